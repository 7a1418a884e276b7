"""Inputs that are long, deep or of many digits: each ends in a message, and in steps that grow as they do."""

import sys
from collections import Counter

import pytest

from sonde.cli.main import main
from sonde.frontends.d.advice.words import brackets, words
from sonde.model.errors import ProgramError, SourceError

N = 6000
NAME, DIGITS, STARS = "x" * N, "9" * N, "*a" * (N // 2)

D = [
    f"{NAME} = 1;", f"trace({NAME});", f"@{NAME} = count();", f"trace(curthread->{NAME});", f'trace("{NAME}");',
    f'printf("%{DIGITS}d", 1);', f"trace({DIGITS});", f"trace(0x{'f' * N});", '"' * N, "#" * N, "[1]" * N, "a." * N,
    "!" * N, "(" * N, ")" * N, "{" * N, "}" * N, "," * N, "(int)" * N, "x ? " * N, "/*" * N, "\\" * N, "'" + NAME,
]  # fmt: skip
BT = [
    f"$ {NAME} = 1;", f"print({NAME});", f"print(curtask.{NAME});", f'print("{NAME}");', f'printf("%{DIGITS}d", 1);',
    f"print({DIGITS});", f"print(0x{'f' * N});", '"' * N, "#" * N, "[1]" * N, "a." * N, "!" * N, "(" * N, ")" * N,
    "{" * N, "}" * N, "," * N, "(1," * N, "1?" * N, "/*" * N, "$1" * N, "'" + NAME,
]  # fmt: skip
PROBES = [NAME, f"syscall::{NAME}:entry", f"syscall::{STARS}:entry", f"profile-{DIGITS}", f"tick-{DIGITS}hz",
          f"syscall::{'[' * N}:entry", f"{'[a]' * N}:::"]  # fmt: skip
WORDS = [
    [f"--{NAME}"], ["-x", NAME], ["-x", f"bufsize={DIGITS}"], ["-p", DIGITS], ["-l", NAME], ["-l", STARS], ["-s", NAME],
    ["--spec", NAME], ["read", NAME], ["raw", NAME], ["vars", NAME, "y"], ["test", NAME], ["verify", NAME], [NAME],
    ["--engine", NAME], ["bt", NAME], ["bt", "-f", NAME], ["-b", NAME], ["-k", NAME, "-n", "BEGIN {}"],
]  # fmt: skip
GIVEN = [
    *(["-n", f"BEGIN {{ {text} exit(0); }}"] for text in D),
    *(["bt", "-e", f"begin {{ {text} exit(); }}"] for text in BT),
    *(["-n", f"{probe} {{ exit(0); }}"] for probe in PROBES),
    *(["bt", "-e", f"#define A0 1 + 1\n{''.join(f'#define A{at + 1} A{at} + A{at}' + chr(10) for at in range(40))}"
       "begin { print(A40); }"],),
    *WORDS,
]  # fmt: skip


@pytest.mark.share(1)
@pytest.mark.parametrize("words_given", GIVEN, ids=lambda given: " ".join(each[:24] for each in given))
def test_a_long_input_ends_in_a_message(words_given, capfd):
    """An exception would leave `main`."""
    assert main(["sonde", "--dry-run", *words_given] if words_given[0] == "-n" else ["sonde", *words_given]) in (
        0,
        1,
        2,
    )
    said = capfd.readouterr()
    assert said.err or said.out
    assert "Traceback" not in said.err


def steps(call):
    """Lines of sonde that the call executes."""
    counted = Counter()

    def each(frame, event, argument):
        counted[event] += 1
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        call()
    except (ProgramError, SourceError):
        pass
    finally:
        sys.settrace(before)
    return counted["line"]


@pytest.mark.parametrize("text", ["(", "{ ( [ ", "(a)", "} ) ]", "( ]"])
def test_brackets_are_paired_in_steps_that_grow_as_they_do(text):
    few, many = (words(text * times) for times in (100, 800))
    assert steps(lambda: brackets(many)) < 9 * steps(lambda: brackets(few))
