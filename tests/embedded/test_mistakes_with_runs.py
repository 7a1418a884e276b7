"""What callers of the library do wrong is told where they do it, in one message."""

import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import sonde

ENDS = "BEGIN { exit(0); }"
WRONG = object()
CALLS = {
    "text": lambda wrong: sonde.trace(wrong),
    "command": lambda wrong: sonde.trace(ENDS, wrong),
    "word": lambda wrong: sonde.trace(ENDS, ["true", wrong]),
    "pids": lambda wrong: sonde.trace(ENDS, pids=wrong),
    "pid": lambda wrong: sonde.trace(ENDS, pids=[wrong]),
    "language": lambda wrong: sonde.trace(ENDS, language=wrong),
    "options": lambda wrong: sonde.trace(ENDS, options=wrong),
    "option": lambda wrong: sonde.trace(ENDS, options={"bufsize": wrong}),
    "arguments": lambda wrong: sonde.trace(ENDS, arguments=wrong),
    "argument": lambda wrong: sonde.trace(ENDS, arguments=[wrong]),
    "engine": lambda wrong: sonde.trace(ENDS, engine=wrong).__enter__(),
    "duration": lambda wrong: sonde.trace(ENDS, duration=wrong),
    "output": lambda wrong: sonde.trace(ENDS, output=wrong),
    "files": lambda wrong: sonde.trace(ENDS, files=wrong),
    "raw": lambda wrong: sonde.trace(ENDS, files=sonde.Files(raw=wrong)),
    "pictures": lambda wrong: sonde.trace(ENDS, files=sonde.Files(pictures=wrong)),
    "picture": lambda wrong: sonde.trace(ENDS, files=sonde.Files(pictures=((wrong, "a"),))),
    "compiled": lambda wrong: sonde.compile(wrong),
    "target": lambda wrong: sonde.compile(ENDS, target=wrong),
    "loaded": lambda wrong: sonde.load(wrong),
    "object": lambda wrong: sonde.load_object(wrong),
    "read": lambda wrong: [*sonde.read(wrong)],
    "title": lambda wrong: sonde.count(wrong),
    "probe": lambda wrong: sonde.probe(wrong),
    "heat map": lambda wrong: sonde.HeatMap(wrong),
}


@pytest.mark.filterwarnings("ignore:a run begins with its block")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arguments_of_the_wrong_type_are_told_where_they_are_given(call):
    with pytest.raises((TypeError, sonde.Error)) as raised:
        call(WRONG)
    assert "object has no attribute" not in str(raised.value)
    # It names what was given, or what it takes.
    assert str(raised.value)


def test_files_take_paths_of_any_kind(tmp_path):
    kept = sonde.Files(raw=tmp_path / "kept.raw")
    with sonde.trace(ENDS, files=kept, engine="embedded") as run:
        run.wait()
    assert [*sonde.read(tmp_path / "kept.raw")] == [sonde.Exit(0)]


def test_aggregations_have_names_when_the_run_has_begun():
    run = sonde.trace("BEGIN { @calls = count(); @ = count(); exit(0); }", engine="embedded")
    with pytest.raises(RuntimeError, match="in its `with` block"):
        _ = run.aggregations
    with run:
        run.wait()
    with pytest.raises(KeyError, match="no aggregation is called 'cals'; there are 'calls', '_'"):
        _ = run.aggregations["cals"]
    for name in ("@calls", "@"):
        with pytest.raises(KeyError, match="called without @"):
            _ = run.aggregations[name]
    assert run.aggregations.get("cals") is None


def test_what_python_has_as_well_may_be_imported_with_all_names():
    names = {}
    exec("from sonde import *", names)
    assert (names["max"](1, 2), names["min"]([3, 4]), names["sum"]([1, 2])) == (2, 3, 3)
    assert names["max"]([], default=5) == 5
    assert [each.function for each in (names["sum"](), names["max"]("ns"), names["min"](title="ns"))] == [
        "sum", "max", "min",
    ]  # fmt: skip


def test_a_mistake_of_the_program_shows_nothing_of_the_compiler():
    for wrong in (
        lambda: sonde.trace("BEGIN { trace(argO); }", engine="embedded").__enter__(),
        lambda: sonde.compile("BEGIN { trace(argO); }", engine="embedded"),
    ):
        with pytest.raises(sonde.CompileError) as raised:
            wrong()
        frames = traceback.extract_tb(raised.value.__traceback__)
        assert [Path(each.filename).name for each in frames if "library" in each.filename] in (
            ["run.py", "run.py"], ["script.py"],
        )  # fmt: skip
        assert raised.value.__context__ is None or raised.value.__suppress_context__


def test_a_run_that_never_began_says_so():
    with pytest.warns(RuntimeWarning, match="never began") as told:
        sonde.trace(ENDS)
    assert told[0].filename == __file__
    with warnings.catch_warnings(), sonde.trace(ENDS, engine="embedded") as run:
        warnings.simplefilter("error")
        run.wait()
        del run


def test_wait_says_what_it_passes_over():
    program = "BEGIN { trace(1); trace(2); exit(3); }"
    with sonde.trace(program, engine="embedded") as run, pytest.warns(UserWarning, match="passed over 2 records"):
        assert run.wait() == 3


INTERRUPTED = """
import signal, sonde
signal.signal(signal.SIGINT, signal.default_int_handler)
program = 'tick-10ms { @ = count(); } END { printf("%d ends", 5); }'
run = sonde.trace(program, engine="embedded", output=OUTPUT, options={"quiet": True})
try:
    with run:
        signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    rest = [*run]
    print([each.values for each in rest if isinstance(each, sonde.Record)], type(rest[-1]).__name__)
    print(b"".join(each.text for each in rest if isinstance(each, sonde.Text)))
"""


@pytest.mark.parametrize("output", [None, pytest.param("text", marks=pytest.mark.long)])
def test_what_end_says_is_there_behind_an_interrupt(output):
    """Ctrl-C leaves the block; END has fired by then. In a process of its own: others are interrupted, too."""
    words = [sys.executable, "-c", INTERRUPTED.replace("OUTPUT", repr(output))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    if output is None:
        assert done.stdout.splitlines()[0] == "[(5,)] Exit"
    else:
        assert "5 ends" in done.stdout
