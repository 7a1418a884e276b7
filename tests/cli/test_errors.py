"""Mistakes in programs as messages."""

import pytest

from sonde.frontends.d.errors import DError
from sonde.frontends.d.programs.mistakes import compile_error
from sonde.library.errors import engine_error
from sonde.model.errors import AbortedError, EngineError, Position

TEXT = 'BEGIN /x > 1/ { printf("}/{"); /* } */ y; } END { z }'


def at(text, word):
    """The position of a word in a program of the command line."""
    before = text[: text.index(word)]
    return Position(None, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


@pytest.mark.parametrize(
    ("word", "region"),
    [("x >", "in predicate: "), ("y;", "in action list: "), ("z", "in action list: "), ("END", "")],
)
def test_a_program_without_a_file_is_told_by_its_regions(word, region):
    error = compile_error(DError("D_IDENT_UNDEF", "no", at(TEXT, word)), "F", TEXT, False, False)
    assert error.text == f"F: {region}no"


def test_a_syntax_error_has_no_region():
    error = compile_error(DError("D_SYNTAX", "no", at(TEXT, "y;")), "F", TEXT, False, False)
    assert error.text == "F: no"


def test_a_script_is_told_by_its_lines():
    error = compile_error(DError("D_SYNTAX", "no", Position("a.d", 3, 1)), "F", "\n\nx", True, False)
    assert error.text == "F: line 3: no"


def test_a_line_of_another_file_has_its_name():
    position = Position("b.h", 3, 1, line_directive=True)
    error = compile_error(DError("D_SYNTAX", "no", position), "F", "\n\nx", True, False)
    assert error.text == 'F: "b.h", line 3: no'
    assert error.hint == ""


def test_the_input_of_the_preprocessor_is_the_script_itself():
    position = Position("/dev/stdin", 3, 1, line_directive=True)
    error = compile_error(DError("D_SYNTAX", "no", position), "F", "\n\nx", True, False)
    assert error.text == "F: line 3: no"


def test_the_tag_stands_first_where_it_is_wanted():
    error = compile_error(DError("D_SYNTAX", "no", Position("a.d", 1, 1)), "F", "x", True, True)
    assert error.text == "F: [D_SYNTAX] line 1: no"


def test_people_see_the_line_and_the_place():
    error = compile_error(DError("D_SYNTAX", "no", Position("a.d", 2, 3)), "F", "BEGIN\n\t{ x\n", True, False)
    assert error.hint.splitlines() == ["a.d:2:3:", "      { x", "       ^"]


@pytest.mark.parametrize("position", [None, Position("a.d", 9, 1), Position("a.d", 1, 99), Position("a.d", 0, 0)])
def test_a_place_that_is_not_there_does_no_harm(position):
    error = compile_error(DError("D_PDESC_ZERO", "no", position), "F", "BEGIN", True, False)
    assert error.hint.endswith("-Z allows descriptions that match none")


def test_a_refused_program_shows_the_line_of_d_and_the_log():
    error = engine_error(EngineError("the kernel refuses it", "1: r0\nbad", "a.d:7"))
    assert error.text == "could not enable tracing: the kernel refuses it"
    assert "a.d:7" in error.remedy
    assert error.remedy.endswith("1: r0\nbad")


def test_what_ends_tracing_did_not_keep_it_from_beginning():
    assert engine_error(AbortedError("it is gone")).text == "processing aborted: it is gone"
