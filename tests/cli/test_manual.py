"""--help, the manual page and what completes the command line: made of one description, which has all that there is."""

import subprocess
from pathlib import Path

import pytest
from support.command.running import SONDE, run
from support.machine import packages

from sonde.cli import arguments, bt_arguments, export, operands
from sonde.cli.manual.commands import ALL, OTHERS, TRACING
from sonde.cli.manual.man import page

ROOT = Path(__file__).parents[2]
NAMES = [each.name for each in OTHERS]


OWN = {("record", "-g"), ("vars", "--struct"), ("test", "--update")}
"""Options that tracing has not, or with another meaning."""


OF_COMMANDS = {
    "bt": {*bt_arguments._FLAGS, *bt_arguments._VALUES, *bt_arguments._SYNONYMS},
    "export": {*export.OPTIONS},
}
"""Commands with options of their own."""


def option_names(command):
    return [name for section in command.sections for option in section.options for name in option.names]


def known():
    """Options as the parser has them: the two data models are -3 and -6 with a value to it."""
    letters = {*arguments._SPECIFIERS, *arguments._SETTINGS, *arguments._FLAGS, *arguments._VALUES, *"cpx"}
    both = {f"-{letter}" for letter in letters} | {
        *arguments._LONG,
        *arguments._PICTURES,
        *arguments._CHOICES,
        "-32",
        "-64",
    }
    return both - {"--act"}


def test_the_manual_has_every_option_once():
    names = option_names(TRACING)
    assert len(names) == len(set(names))
    assert set(names) == known()


@pytest.mark.parametrize("command", OTHERS, ids=NAMES)
def test_options_of_a_command_are_options(command):
    for name in option_names(command):
        assert name in known() | {"--", "--act"} | OF_COMMANDS.get(command.name, set()) or (command.name, name) in OWN


@pytest.mark.parametrize("name", OF_COMMANDS)
def test_the_manual_of_a_command_has_every_option_of_its_own_once(name):
    names = option_names(next(each for each in OTHERS if each.name == name))
    assert len(names) == len(set(names))
    assert set(names) == OF_COMMANDS[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_has_every_command(name):
    assert f"\n    sonde {name} " in (ROOT / "docs" / "reference.md").read_text()


def test_every_command_has_a_manual():
    assert [*operands.COMMANDS] == NAMES
    assert set(NAMES) - {"help"} == set(next(each for each in OTHERS if each.name == "help").operands)


@pytest.mark.share(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_command_shows_its_manual(name):
    shown = run("help", name)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith((f"Usage: sonde {name}", f"USAGE:\n    sonde {name} "))
    assert max(map(len, shown.stdout.splitlines())) <= 80
    if name != "help":
        assert run(name, "--help").stdout == run(name, "-h").stdout == shown.stdout


def test_the_manual_of_tracing():
    shown = run("--help").stdout
    assert run("help").stdout == run("-h").stdout == shown
    assert max(map(len, shown.splitlines())) <= 80
    for name in (*NAMES, *option_names(TRACING)):
        assert f"  {name}" in shown or f", {name}" in shown


def test_options_behind_two_dashes_are_the_commands_own(tmp_path):
    """What is recorded may have a --help of its own."""
    done = run("record", "-o", str(tmp_path / "file"), "-e", "--", "ls", "--help")
    assert "Usage" not in done.stdout


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (["raw"], "sonde raw FILE"),
        (["vars", "x"], "sonde vars"),
        (["-9"], "sonde [OPTIONS]"),
        (["help", "x"], "sonde help"),
    ],
)
def test_a_wrong_command_line_is_told_how_it_is_written(words, heading):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    first, second, *_, last = done.stderr.splitlines()
    assert first.startswith("sonde: ")
    assert second.startswith(f"Usage: {heading}")
    assert last.endswith("--help` tells more.")


@pytest.mark.parametrize(("word", "takes"), [("-n", "-n DESCRIPTION"), ("-c", "-c COMMAND"), ("--raw", "--raw FILE")])
def test_an_option_without_its_value_says_what_it_takes(word, takes):
    done = run(word)
    assert done.returncode == 2
    assert takes in done.stderr.splitlines()[1]
    assert "Usage" not in done.stderr


def test_the_manual_page_is_the_manual():
    """`python3 tools/manual.py` writes it."""
    assert (ROOT / "docs" / "sonde.1").read_text() == page(TRACING, OTHERS)


def test_the_manual_page_is_correct():
    if packages.missing("mandoc"):
        packages.require("groff")
    tool = ["groff", "-ww", "-man", "-z"] if packages.missing("mandoc") else ["mandoc", "-T", "lint", "-W", "warning"]
    done = subprocess.run([*tool, ROOT / "docs" / "sonde.1"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def completed(*words, directory="."):
    """What the last word can become."""
    script = f"""
source <('{SONDE}' completion bash)
COMP_WORDS=(sonde {" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words)}
compopt() {{ :; }}
_sonde
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=directory)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes(tmp_path):
    (tmp_path / "slow.d").touch()
    assert completed("do", directory=tmp_path) == ["doctor"]
    assert completed("--fl") == ["--flame", "--flame-diff"]
    assert completed("-x", "strs") == ["strsize"]
    assert completed("-q", "--engine", "") == ["kernel", "embedded", "auto"]
    assert completed("-s", "sl", directory=tmp_path) == ["slow.d"]
    assert completed("sl", directory=tmp_path) == ["slow.d"]
    assert completed("verify", "--e") == ["--engine"]
    assert completed("raw", "sl", directory=tmp_path) == ["slow.d"]
    assert completed("help", "rec") == ["record"]
    assert "1" in completed("-p", "")
    assert "ls" in completed("-c", "l")
    assert completed("-n", "sl", directory=tmp_path) == []


@pytest.mark.share(3)
@pytest.mark.parametrize("command", ALL, ids=lambda each: each.name or "tracing")
def test_bash_knows_every_option(command):
    words = [command.name] if command.name else []
    assert set(option_names(command)) <= set(completed(*words, "-"))
