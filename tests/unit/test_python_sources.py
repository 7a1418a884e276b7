"""Where the sources of probe functions come from: files, cells of notebooks, what is typed; scripts of functions."""

import enum
import linecache
import pickle
import subprocess
import sys

import pytest

import sonde
from sonde import count, probe, thread


@pytest.fixture
def cell():
    """Runs a cell as IPython does, which files its text under a name of its own."""
    names = []

    def run(text, **known):
        name = f"<ipython-input-{len(names)}-0123456789ab>"
        names.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        found = {"sonde": sonde, "probe": probe, **known}
        exec(compile(text, name, "exec"), found)
        return found

    yield run
    for name in names:
        del linecache.cache[name]


def test_a_cell_has_a_source(cell):
    found = cell('LIMIT = 5\n\n@probe("BEGIN")\ndef began(p):\n    print(LIMIT + p.pid - p.pid)\n    exit(0)\n')
    with sonde.run(found["began"], engine="embedded") as run:
        assert next(iter(run)).values == (5,)


def test_a_mistake_in_a_cell_has_its_place(cell):
    found = cell('\n\n@probe("BEGIN")\ndef began(p):\n    print(p.nothing)\n')
    with pytest.raises(sonde.CompileError, match="a firing has no nothing") as caught:
        sonde.compile(found["began"], engine="embedded")
    assert (caught.value.line, caught.value.column) == (5, 13)
    assert caught.value.file.startswith("<ipython-input-")


def test_the_cell_that_was_run_last_counts(cell):
    first = cell('@probe("BEGIN")\ndef began(p):\n    exit(1)\n')["began"]
    second = cell('@probe("BEGIN")\ndef began(p):\n    exit(2)\n')["began"]
    for function, status in ((first, 1), (second, 2)):
        with sonde.run(function, engine="embedded") as run:
            assert run.wait() == status


TYPED = """
import sonde
from sonde import probe
@probe("BEGIN")
def began(p):
    print(p.pid - p.pid + 5)
    exit(0)

with sonde.run(began, engine="embedded") as run:
    print(next(iter(run)).values)

"""


def test_what_is_typed_is_kept_from_python_3_13_on():
    typed = subprocess.run([sys.executable, "-i", "-q"], input=TYPED, capture_output=True, text=True)
    if sys.version_info >= (3, 13):
        assert "(5,)" in typed.stdout
    else:
        assert "the source of began() is not to be had" in typed.stderr
        assert "from 3.13 on: write a file, or use IPython or a notebook" in typed.stderr


def test_the_source_is_that_of_when_the_function_was_made(tmp_path, monkeypatch):
    path = tmp_path / "changing.py"
    path.write_text('from sonde import probe\n@probe("BEGIN")\ndef began(p):\n    exit(3)\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import changing

    path.write_text('from sonde import probe\n@probe("BEGIN")\ndef began(p):\n    exit(4)\n')
    with sonde.run(changing.began, engine="embedded") as run:
        assert run.wait() == 3


def script_of(limit):
    calls = count("calls below a limit")

    @probe("syscall::read:entry")
    def entered(p):
        if p.args[2] < limit:
            thread.size = p.args[2]
            calls[p.execname].add()

    return sonde.compile(entered, engine="embedded")


def test_scripts_of_functions_are_values():
    """Equal if their sources and what these mean are."""
    one = script_of(5)
    assert one == script_of(5)
    assert one != script_of(6)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again.spec == one.spec
    assert again.for_engine("embedded").spec == one.spec
    assert one.spec.aggregations[0].title == "calls below a limit"


def test_code_is_shown_below_the_lines_of_python():
    shown = script_of(5).disassemble()
    assert "if p.args[2] < limit:" in shown or "calls[p.execname].add()" in shown


def test_stacked_decorators_are_several_probes():
    @probe("BEGIN")
    @probe("END")
    def both(p):
        pass

    assert {each.name for each in sonde.compile(both, engine="embedded").probes} == {"BEGIN", "END"}


def test_methods_around_a_probe_give_it_what_they_know():
    class Counter:
        limit = 7

        def __init__(self):
            self.calls = count()
            self.sum = 0

        def made(self):
            @probe("syscall::write:entry")
            def entered(p):
                if p.arg2 < self.limit:
                    self.calls.add()

            return entered

    script = sonde.compile(Counter().made(), engine="embedded")
    assert [each.name for each in script.spec.aggregations] == ["calls"]


class Flags(enum.IntFlag):
    FIRST, SECOND = 1, 2


class Level(enum.IntEnum):
    HIGH = 40


def test_constants_are_numbers_texts_and_members():
    ratio, raw, many = 0.5, b"raw", frozenset(("b", "a", "c"))

    @probe("BEGIN")
    def known(p):
        print(Flags.FIRST | Flags.SECOND, Level.HIGH + 2, raw, "a" in many, "d" in many)

    @probe("BEGIN")
    def wrong(p):
        print(ratio)

    with sonde.run(known, engine="embedded", duration=0.3) as run:
        (record,) = [event for event in run if isinstance(event, sonde.Record)]
    assert record.values == (3, 42, "raw", 1, 0)
    with pytest.raises(sonde.CompileError, match="ratio is a float"):
        sonde.compile(wrong, engine="embedded")
