"""What callers give the library: taken in each form that Python has for it, refused where it is given."""

import io
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import sonde
from sonde.library import settings
from sonde.model import known_options

EMPTY = "BEGIN { }"


class Three:
    """A number as those of other libraries are."""

    def __index__(self):
        return 3


TAKEN = [
    ("arguments", [5, True, Three(), "a b", Path("/x"), -1], ("5", "1", "3", "a b", "/x", "-1")),
    ("arguments", range(2), ("0", "1")),
    ("arguments", (), ()),
]


@pytest.mark.parametrize(("name", "given", "texts"), TAKEN)
def test_arguments_are_numbers_and_texts(name, given, texts):
    assert sonde.compile(EMPTY, options={"argref": True}, engine="embedded", **{name: given}).source.arguments == texts


@pytest.mark.parametrize("given", ["ab", b"ab", 5, [None], [1.5], [b"x"], [[1]], None])
def test_other_arguments_are_refused(given):
    with pytest.raises(TypeError):
        sonde.compile(EMPTY, arguments=given, engine="embedded")


@pytest.mark.parametrize("given", [b"BEGIN { }", None, 3, [EMPTY, b"x"], [["x"]], Path("x.d")])
def test_a_program_is_a_text_or_several(given):
    for take in (sonde.compile, sonde.trace):
        with pytest.raises(TypeError, match="a program is a text"):
            take(given, engine="embedded")


REFUSED = [
    ({"command": b"true"}, TypeError, "a command is"),
    ({"command": 3}, TypeError, "a command is"),
    ({"command": ["true", 3]}, TypeError, "a word of a command"),
    ({"command": [b"true"]}, TypeError, "a word of a command"),
    ({"pids": 1}, TypeError, "pids are"),
    ({"pids": "1"}, TypeError, "pids are"),
    ({"pids": [None]}, TypeError, "pids are"),
    ({"pids": [1.0]}, TypeError, "pids are"),
    ({"duration": "1"}, TypeError, "a duration is"),
    ({"duration": b"1"}, TypeError, "a duration is"),
    ({"duration": -1}, ValueError, "0 or more seconds"),
    ({"duration": float("nan")}, ValueError, "0 or more seconds"),
    ({"output": True}, TypeError, "an output is"),
    ({"output": "stdout"}, TypeError, "an output is"),
    ({"output": 1.5}, TypeError, "an output is"),
    ({"output": io.StringIO()}, TypeError, "an output is"),
    ({"output": Path("x")}, TypeError, "an output is"),
]


@pytest.mark.parametrize(("given", "kind", "text"), REFUSED)
def test_a_mistake_is_told_where_the_run_is_made(given, kind, text):
    """Not when its block begins, nor in the run's thread."""
    script = sonde.compile(EMPTY, engine="embedded")
    for make in (script.run, lambda **words: sonde.trace(EMPTY, **words)):
        with pytest.raises(kind, match=text):
            make(**given)


@pytest.mark.share(2)
@pytest.mark.parametrize("duration", [0, 1e-9, 0.01, Fraction(1, 100), Decimal("0.01"), False])
def test_durations_are_numbers_of_any_kind(duration):
    with sonde.trace("tick-1h { }", duration=duration, engine="embedded") as run:
        assert run.wait() == 0


COMMANDS = [[sys.executable, "-c", "exit(3)"], (Path(sys.executable), "-c", "exit(3)"), Path("/bin/false")]


@pytest.mark.share(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_may_have_paths(command):
    with sonde.trace("tick-1h { }", command, engine="embedded") as run:
        run.wait()
    assert run.command_status in (3 << 8, 1 << 8)


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("command", ["no-such-command", "", [""], ["a\0b"], "'"])
def test_a_command_that_cannot_start_is_one_error(engine, command):
    with pytest.raises(sonde.Error) as refused, sonde.trace(EMPTY, command, engine=engine):
        pass
    if isinstance(refused.value, sonde.NotPermittedError):
        pytest.skip("this user may not trace with the kernel")
    assert type(refused.value) is sonde.Error
    assert refused.value.text.startswith("failed to run")
    assert "Error" not in refused.value.text


@pytest.mark.parametrize("read", [sonde.load, sonde.read])
@pytest.mark.parametrize("path", [None, 3, 1.5])
def test_no_path_is_no_damaged_file(read, path):
    with pytest.raises(TypeError):
        read(path)


def test_paths_are_texts_and_paths(tmp_path):
    (tmp_path / "x.d").write_text(EMPTY)
    assert sonde.load(tmp_path / "x.d") == sonde.load(str(tmp_path / "x.d"))
    with pytest.raises(sonde.Error, match="none"):
        sonde.compile(EMPTY, target=tmp_path / "none")


SWITCHES = sorted(name for name, each in known_options.OPTIONS.items() if each.kind == known_options.SWITCH)


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_is_true_or_false(name):
    tables = {value: settings.option_table(settings.option_texts({name: value})) for value in (True, False)}
    assert {value: table.on(name) for value, table in tables.items()} == {True: True, False: False}
