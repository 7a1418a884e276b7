"""The command line as a value."""

import pytest

from sonde.cli.arguments import GivenProgram, Setting, parse
from sonde.cli.messages import UsageError


def test_options_without_value_may_stand_behind_one_dash():
    arguments = parse(["-qls", "file"])
    assert arguments.programs == (GivenProgram("file", "file"),)
    assert arguments.flags == {"list"}
    assert arguments.settings == (Setting("-q", "quiet", None),)


@pytest.mark.parametrize("words", [["-nBEGIN"], ["-n", "BEGIN"], ["-en", "BEGIN"], ["-enBEGIN"]])
def test_a_value_is_the_rest_of_the_word_or_the_next_one(words):
    assert parse(words).programs == (GivenProgram("name", "BEGIN"),)


def test_programs_keep_their_order_whatever_their_kind():
    words = ["-n", "a", "-P", "b", "-m", "c", "-f", "d", "-i", "5", "-s", "e", "-n", "f"]
    kinds = [program.kind for program in parse(words).programs]
    assert kinds == ["name", "provider", "module", "function", "identifier", "file", "name"]


def test_operands_may_stand_between_options():
    assert parse(["one", "-q", "two", "-n", "BEGIN", "three"]).operands == ("one", "two", "three")


def test_behind_two_dashes_all_are_operands():
    assert parse(["-q", "--", "-n", "--help", "--"]).operands == ("-n", "--help", "--")


def test_a_single_dash_is_an_operand():
    assert parse(["-"]).operands == ("-",)


def test_the_settings_of_x_keep_what_stands_behind_the_first_equals_sign():
    arguments = parse(["-xdefine=A=1", "-x", "quiet", "-x", "amin="])
    assert arguments.settings == (
        Setting("-x define", "define", "A=1"), Setting("-x quiet", "quiet", None), Setting("-x amin", "amin", "")
    )  # fmt: skip


def test_short_settings_are_known_by_their_letter():
    arguments = parse(["-b", "4k", "-w", "-Ifoo", "-X", "a"])
    assert [(each.given, each.name, each.value) for each in arguments.settings] == [
        ("-b", "bufsize", "4k"), ("-w", "destructive", None), ("-I", "incdir", "foo"), ("-X", "stdc", "a")
    ]  # fmt: skip


def test_long_options():
    arguments = parse(["--disasm", "--raw", "a", "--dry-run"])
    assert arguments.flags == {"disassemble", "dry_run"}
    assert arguments.raw == "a"
    assert parse(["--raw=b"]).raw == "b"


def test_processes_and_output():
    arguments = parse(["-c", "ls -l", "-p", "1", "-p2", "-o", "file", "-64"])
    assert (arguments.commands, arguments.pids, arguments.output) == (("ls -l",), ("1", "2"), "file")


def test_nothing_is_empty():
    assert parse([]).is_empty
    assert not parse(["-e"]).is_empty


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-9"], "illegal option -- 9"),
        (["-q9"], "illegal option -- 9"),
        (["-65"], "illegal option -- 6"),
        (["-n"], "option requires an argument -- n"),
        (["-qn"], "option requires an argument -- n"),
        (["--raw"], "option requires an argument -- raw"),
        (["--nonsense"], "illegal option -- nonsense"),
        (["--help=5"], "illegal option -- help=5"),
        (["-lV"], "only one of the [-GhlV] options can be specified at a time"),
    ],
)
def test_what_makes_no_sense_is_said(words, text):
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert caught.value.text == text
    assert caught.value.status == 2
