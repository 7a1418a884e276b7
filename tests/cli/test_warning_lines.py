"""Warnings at compile time: on the error output, for people only, and without any effect."""

from pathlib import Path

import pytest
from support.command.running import run

PROGRAM = "BEGIN { x = 0; x = timestamp; exit(3); }"
WARNING = """\
sonde: command line:1:16: warning: x keeps 32 bits of this: it is of type int since 1:9
    BEGIN { x = 0; x = timestamp; exit(3); }
                   ^
  declare it before the clauses: uint64_t x;
"""


def test_a_warning_has_place_cause_and_remedy_and_changes_no_status():
    done = run("-e", "-n", PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", WARNING)


@pytest.mark.share(1)
@pytest.mark.parametrize("words", [["-xwarn=no"], ["-x", "warn=off"]])
def test_they_are_turned_off(words):
    assert run(*words, "-e", "-n", PROGRAM).stderr == ""
    assert run("-e", "-n", PROGRAM, DTRACE_OPT_WARN="no").stderr == ""


def test_a_script_may_turn_them_off(tmp_path):
    script = tmp_path / "a.d"
    script.write_text(f"#pragma D option warn=no\n{PROGRAM}\n")
    assert run("-e", "-s", str(script)).stderr == ""
    script.write_text(f"{PROGRAM}\n")
    assert f"{script}:1:16: warning: x keeps 32 bits" in run("-e", "-s", str(script)).stderr


def test_tests_of_dtrace_see_none():
    assert run("-e", "-n", PROGRAM, _DTRACE_TESTING="t").stderr == ""


def test_the_command_dtrace_has_them_on_request(tmp_path):
    from support.command.running import SONDE

    link = tmp_path / "dtrace"
    link.symlink_to(SONDE)
    assert run("-e", "-n", PROGRAM, program=str(link)).stderr == ""
    assert "warning: x keeps 32 bits" in run("-xwarn", "-e", "-n", PROGRAM, program=str(link)).stderr


def test_a_program_that_does_not_compile_has_its_error_only():
    done = run("-e", "-n", f"{PROGRAM} BEGIN {{ trace(nosuch); }}")
    assert done.returncode == 1
    assert "warning" not in done.stderr


TARGET = "sonde: command line: $target is 0, as there is neither -c nor -p\n"


@pytest.mark.parametrize("program", ["BEGIN /pid == $target/ { } %s", "BEGIN { x = $target; } %s"])
def test_a_target_that_is_not_there_is_told(program):
    assert TARGET in run("-n", program % "BEGIN { exit(0); }").stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("BEGIN /pid == $target/ { } %s", ["-c", "true"]),
        ("BEGIN /pid == $target/ { } %s", ["-e"]),
        ("BEGIN /$target == 0 || pid == $target/ { } %s", []),
        ("BEGIN /!$target/ { } %s", []),
        ("/* sonde -c true: pid == $target */ %s", []),
    ],
)
def test_a_target_that_is_there_or_need_not_be_is_not(program, words):
    assert TARGET not in run(*words, "-n", program % "BEGIN { exit(0); }").stderr


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.d"))


@pytest.mark.share(1)
@pytest.mark.parametrize("example", EXAMPLES, ids=[each.stem for each in EXAMPLES])
def test_the_examples_have_none(example):
    done = run("-Z", "-e", "-xdefaultargs", "-xargref", "-c", "true", "-s", str(example))
    # Some need probes of a program that is not here.
    assert done.returncode == 0 or "invalid" in done.stderr or "failed to compile" in done.stderr
    assert "warning" not in done.stderr
