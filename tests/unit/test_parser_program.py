"""Programs: clauses, probe descriptions, predicates, pragmas, and text that is no program at all."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.d_parsing import parse_program

from sonde.frontends.d import syntax
from sonde.frontends.d.errors import DError
from sonde.frontends.d.parser import NO_MACROS, Parser, no_type_names
from sonde.frontends.d.source import Macros, ProgramSource, command_line_source


def items(text: str, **macros: Any) -> tuple[Any, ...]:
    return parse_program(ProgramSource(text), Macros(**macros)).items


def error_of(source: ProgramSource, macros: Macros = Macros()) -> DError:  # noqa: B008
    with pytest.raises(DError) as caught:
        parse_program(source, macros)
    return caught.value


def test_a_clause() -> None:
    (clause,) = items("syscall::read*:entry,\ntick-1\n/pid == $pid && x/\n{ trace(1);; y = 2 }", pid=7)
    assert [spec.fields for spec in clause.specs] == [("syscall", "", "read*", "entry"), ("", "", "", "tick-1")]
    assert clause.specs[1].position.line == 2
    assert isinstance(clause.predicate, syntax.Binary)
    assert [type(statement.expression).__name__ for statement in clause.statements] == ["Call", "Assign"]


def test_a_clause_may_be_empty() -> None:
    assert items("BEGIN {}")[0].statements == ()
    assert items("BEGIN {;}")[0].statements == ()


def test_divisions_in_a_predicate() -> None:
    (clause,) = items("BEGIN /a / b > (c / d)/ {}")
    assert clause.predicate.op == ">"


def test_positions_are_on_the_line_that_dtrace_names() -> None:
    (clause,) = items("BEGIN {\n f(\n1);\n a +\n b;\n c = (int)d\n}")
    call, add, assign = (statement.expression for statement in clause.statements)
    assert (call.position.line, call.position.column) == (2, 2)
    assert (add.position.line, assign.position.line, assign.value.position.line) == (5, 7, 7)


def test_if_else() -> None:
    (clause,) = items("BEGIN { if (a) { b; c; } else if (d) e; else { } f }")
    first, last = clause.statements
    assert isinstance(first, syntax.If)
    assert len(first.then) == 2
    (nested,) = first.otherwise
    assert (len(nested.then), nested.otherwise) == (1, ())
    assert isinstance(last, syntax.ExpressionStatement)


@pytest.mark.parametrize(
    ("kind", "text", "fields"),
    [
        ("name", "read:entry", ("", "", "read", "entry")),
        ("name", "a:b:c:d", ("a", "b", "c", "d")),
        ("name", ":a:", ("", "", "a", "")),
        ("name", ":::x", ("", "", "", "x")),
        ("provider", "a", ("a", "", "", "")),
        ("module", "a:b", ("a", "b", "", "")),
        ("module", "a:", ("a", "", "", "")),
        ("function", "b:c", ("", "b", "c", "")),
        ("function", ":a::", ("a", "", "", "")),
    ],
)
def test_descriptions_fill_their_fields_from_the_right(kind: str, text: str, fields: tuple[str, ...]) -> None:
    (clause,) = parse_program(command_line_source(text, kind)).items
    assert isinstance(clause, syntax.ProbeClause)
    assert clause.specs[0].fields == fields
    assert clause.statements is None


def test_macros_in_descriptions() -> None:
    macros = Macros(target=5, arguments=("p", "12", "x"))
    program = parse_program(ProgramSource("pid$target:$2*::entry, pid$1:::$$2 {}"), macros)
    clause = program.items[0]
    assert isinstance(clause, syntax.ProbeClause)
    assert [spec.fields for spec in clause.specs] == [("pid5", "x*", "", "entry"), ("pid12", "", "", "x")]
    assert clause.specs[0].text == "pid$target:$2*::entry"
    assert program.used_arguments == {1, 2}


def test_probes_by_number() -> None:
    first, second = parse_program(command_line_source("12-2")).items
    assert isinstance(first, syntax.ProbeClause)
    assert isinstance(second, syntax.ProbeClause)
    assert first.specs[0].identifier == 12
    assert second.specs[0].fields == ("", "", "", "-2")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (ProgramSource("a:b:c:d:e {}"), 'invalid probe description "a:b:c:d:e": Overspecified probe description'),
        (command_line_source("a:b:c", "module"), 'invalid probe description "a:b:c": Overspecified probe description'),
        (ProgramSource("pid$9 {}"), 'invalid probe description "pid$9": Undefined macro variable in probe description'),
        (ProgramSource("pid$x {}"), 'invalid probe description "pid$x": Undefined macro variable in probe description'),
        (command_line_source("4.56", "function"), "probe identifier 4 not permitted when specifying functions"),
    ],
)
def test_wrong_descriptions(source: ProgramSource, text: str) -> None:
    error = error_of(source)
    assert (error.tag, error.text) == ("D_PDESC_INVAL", text)


@pytest.mark.parametrize("text", ["int*x", "key"])
def test_the_command_line_takes_ambiguous_words_for_probes(text: str) -> None:
    (clause,) = parse_program(command_line_source(text), is_type_name={"key"}.__contains__).items
    assert isinstance(clause, syntax.ProbeClause)


def test_the_command_line_takes_declarations_too() -> None:
    found = parse_program(
        command_line_source("int x; key *y; inline int z = 1; BEGIN {}"), is_type_name={"key"}.__contains__
    ).items
    assert [type(item).__name__ for item in found] == ["Declaration", "Declaration", "InlineDefinition", "ProbeClause"]


NO_BODY = "expected predicate and/or actions following probe description"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("int*x\n", 2, "syntax error near end of input"),
        ("#pragma D option pspec\nint*x\n", 2, NO_BODY),
        ("tick-1\nint i;\n{}", 1, NO_BODY),
        ("tick-1:int i\n{}", 1, NO_BODY),
        ("define VALUE 5", 1, NO_BODY),
        ("BEGIN /x/\n", 2, "syntax error near end-of-input"),
        ("BEGIN /(x/\n{}", 1, "closing ) expected in predicate before /"),
        ("BEGIN /x[1/\n{}", 1, "closing ] expected in predicate before /"),
        ("BEGIN { x }\n}", 2, 'syntax error near "}"'),
        ("BEGIN { trace(x)); }", 1, "extra ) in input stream"),
        ("BEGIN {\ntick-10ms\n{}\n}", 2, 'syntax error near "ms"'),
        ("BEGIN { int x = 1; }", 1, 'syntax error near "int"'),
        ("BEGIN { typedef int x; }", 1, 'syntax error near "typedef"'),
        ("BEGIN { uint8_t x; }", 1, 'syntax error near "uint8_t"'),
        ("BEGIN { i = 1$pid; }", 1, 'syntax error near "$pid"'),
        ("BEGIN { i = $-1; }", 1, 'syntax error near "$"'),
        ("BEGIN { a b }", 1, 'syntax error near "b"'),
        ("BEGIN { a", 1, "syntax error near end of input"),
        ("BEGIN, {}", 1, 'syntax error near "{"'),
        ("; BEGIN {}", 1, 'syntax error near ";"'),
    ],
)
def test_errors(text: str, line: int, message: str) -> None:
    error = error_of(ProgramSource(text))
    assert (error.tag, error.text) == ("D_SYNTAX", message)
    assert error.position
    assert error.position.line == line


def test_pragmas_keep_their_place() -> None:
    found = items('#pragma D option a=b\nint x;\n#pragma D binding "1" x\nBEGIN { x;\n#pragma D option c\n}\n')
    kinds = ["Pragma", "Declaration", "Pragma", "Pragma", "ProbeClause"]
    assert [type(item).__name__ for item in found] == kinds
    assert found[2][1:] == ("binding", ('"1"', "x"))


def test_pragmas_come_before_the_error_of_their_item() -> None:
    found = Parser(ProgramSource("inline int x\n#pragma D attributes no x\nBEGIN {}"), NO_MACROS, no_type_names).items()
    assert isinstance(next(found), syntax.Pragma)
    with pytest.raises(DError, match='near "BEGIN"'):
        next(found)


def test_arguments_are_counted_while_items_come() -> None:
    parser = Parser(ProgramSource("BEGIN { $1 }\nEND { $2 }"), Macros(arguments=("p", "1", "2")))
    for used, _ in zip(({1}, {1, 2}), parser.items(), strict=True):
        assert parser.used_arguments == used


@pytest.mark.parametrize("text", ["BEGIN{" + "if(1){" * 9999, "BEGIN{" + "if(1) x; else " * 9999])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(DError, match="nested too deeply"):
        parse_program(ProgramSource(text))


FRAGMENTS = [
    "BEGIN", "{", "}", "/", "(", ")", "[", "]", ";", ",", "int ", "struct s ", "typedef ", "x", " y ", "->", ".", "@a",
    "$1", "$$x", "1", "0x", "'a'", '"s"', "'", '"', "\\", "\n", "#", "#pragma D option a", "/*", "*/", "inline ",
    "translator ", "provider ", "probe ", "if ", "else ", "=", "+", "*", "<", ">", ":", "?", "sizeof", "self->", "`",
    "1.5", "tick-1",
]  # fmt: skip


def read(text: str) -> None:
    for source in (ProgramSource(text), command_line_source(text)):
        with contextlib.suppress(DError):
            parse_program(source, Macros(arguments=("p", "-1")))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_program_or_an_error(content: bytes) -> None:
    read(content.decode("utf-8", "surrogateescape"))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
def test_any_tokens_are_a_program_or_an_error(text: str) -> None:
    read(text)
    read("BEGIN {" + text + "}")


@pytest.mark.share(5)
@pytest.mark.parametrize(
    "unit", ['"', "'", "/ ", "/*/", "#", "\n#\n", "$1", "a`", "@", '#pragma D "\\"', "9", "\\", ".", "x:"]
)
def test_long_nonsense_is_read_in_linear_time(unit: str) -> None:
    read(unit * 20000)
    read("BEGIN /" + unit * 20000)
