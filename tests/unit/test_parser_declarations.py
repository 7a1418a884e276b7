"""C declarations, inline definitions, translators and provider definitions."""

from __future__ import annotations

from typing import Any

import pytest
from support.d.d_parsing import parse_program, parse_type
from support.d.d_source import bare

from sonde.frontends.d import syntax
from sonde.frontends.d.errors import DError
from sonde.frontends.d.parser import NO_MACROS, Parser
from sonde.frontends.d.source import ProgramSource


def only(text: str) -> Any:
    (item,) = parse_program(ProgramSource(text)).items
    return item


def shape(declarator: syntax.Declarator) -> str:
    """The parts of a declarator in words, from the name outwards."""
    names = {syntax.PointerPart: "pointer", syntax.ArrayPart: "array", syntax.FunctionPart: "function"}
    return " ".join(names[type(part)] for part in declarator.parts)


@pytest.mark.parametrize(
    ("text", "name", "parts"),
    [
        ("int x;", "x", ""),
        ("int *x;", "x", "pointer"),
        ("int*x;", "x", "pointer"),
        ("int *x[3];", "x", "array pointer"),
        ("int (*x)[3];", "x", "pointer array"),
        ("void (*x)(int, char *);", "x", "pointer function"),
        ("int *(*x[2])(void);", "x", "array pointer function pointer"),
        ("int x[];", "x", "array"),
        ("int x(int, ...);", "x", "function"),
        ("self int x;", "x", ""),
        ("this string x;", "x", ""),
        ("extern struct a x;", "x", ""),
        ("uint64_t x;", "x", ""),
        ("const char * const x;", "x", "pointer"),
    ],
)
def test_declarators_read_from_the_name_outwards(text: str, name: str, parts: str) -> None:
    item = only(text)
    assert isinstance(item, syntax.Declaration)
    (declarator,) = item.declarators
    assert (declarator.name, shape(declarator)) == (name, parts)


def test_specifiers_are_kept_as_written() -> None:
    head = only("extern unsigned const long long x, *y;").specifiers
    assert [word.text for word in head.storage] == ["extern"]
    assert [word.text for word in head.qualifiers] == ["const"]
    assert [word.text for word in head.types] == ["unsigned", "long", "long"]


@pytest.mark.parametrize("text", ["extern x;", "short long x;", "static self int x;", "unsigned void x;"])
def test_wrong_combinations_are_for_the_checker(text: str) -> None:
    assert isinstance(only(text), syntax.Declaration)


def test_associative_arrays_have_types_for_keys() -> None:
    part = only("int x[int, string, struct a *];").declarators[0].parts[0]
    assert part.size is None
    assert len(part.keys) == 3
    assert not part.variadic
    assert only("int x[int, ...];").declarators[0].parts[0].variadic
    assert bare(only("int x[2 + 3];").declarators[0].parts[0].size)[:2] == ("Binary", "+")


def test_structures() -> None:
    item = only("struct s { int a, *b; unsigned c : 3, : 2; struct { int d; }; int (*f)(void); } x;")
    (body,) = item.specifiers.types
    assert (body.keyword, body.tag) == ("struct", "s")
    first, second, third, fourth = body.members
    assert [each.declarator.name for each in first.declarators] == ["a", "b"]
    assert [(each.declarator.name, each.bits.value) for each in second.declarators] == [("c", 3), (None, 2)]
    assert third.declarators == ()
    assert shape(fourth.declarators[0].declarator) == "pointer function"
    assert only("struct s;").specifiers.types[0].members is None


def test_enumerations() -> None:
    (body,) = only("enum e { A, B = 1 << 3, C, };").specifiers.types
    assert [each.name for each in body.enumerators] == ["A", "B", "C"]
    assert body.enumerators[1].value is not None
    assert body.tag == "e"


def test_typedefs_count_from_the_next_item_on() -> None:
    items = parse_program(
        ProgramSource("typedef struct s { int a; } s_t, *s_p;\ns_t x;\ns_p *y;\nBEGIN { z = (s_t)1; }")
    ).items
    assert [type(item).__name__ for item in items] == ["Declaration", "Declaration", "Declaration", "ProbeClause"]
    with pytest.raises(DError, match="expected predicate and/or actions"):
        parse_program(ProgramSource("s_t x;"))


def test_the_caller_learns_of_types_between_items() -> None:
    known: set[str] = set()
    items = Parser(ProgramSource("int a;\nlate_t b;"), NO_MACROS, known.__contains__).items()
    next(items)
    known.add("late_t")
    assert isinstance(next(items), syntax.Declaration)


def test_inline_definitions() -> None:
    item = only("inline int X = a ? 1 : 2;")
    assert isinstance(item, syntax.InlineDefinition)
    assert item.declarator.name == "X"
    keys = only("inline string f[int a, char *b] = x[a];").declarator.parts[0].keys
    assert [key.declarator.name for key in keys] == ["a", "b"]


def test_translators() -> None:
    item = only("translator struct out < struct in *p > { a = p->x; int = 3; };")
    assert isinstance(item, syntax.Translator)
    assert item.input.declarator.name == "p"
    assert [member.name for member in item.members] == ["a", "int"]


def test_provider_definitions() -> None:
    item = only("provider p { probe go__on(int, char *) : (string s); probe stop(); };")
    assert isinstance(item, syntax.ProviderDefinition)
    first, second = item.probes
    assert (first.name, len(first.native.parameters), len(first.translated.parameters)) == ("go__on", 2, 1)
    assert second.translated is None


def test_abstract_types() -> None:
    assert shape(parse_type("int (*)(void)").declarator) == "pointer function"
    assert shape(parse_type("int (void)").declarator) == "function"
    assert shape(parse_type("char *[3]").declarator) == "array pointer"
    assert bare(parse_type("mod`t *", {"mod`t"}.__contains__).specifiers.types) == (("TypedefName", "t", "mod"),)


@pytest.mark.parametrize(
    ("text", "line", "near"),
    [
        ("int i = 0;", 1, '"="'),
        ("int i", 1, "end of input"),
        ("struct foo`bar {\n};", 2, '"}"'),
        ("struct s { unknown_t x; };", 1, '"unknown_t"'),
        ("translator struct a (struct b *c)\n{", 2, '"{"'),
        ("translator struct a < struct b *c >\nx = 1;", 2, '"x"'),
        ("provider p { probe a };", 1, '"}"'),
        ("inline int foo\nBEGIN {}", 2, '"BEGIN"'),
        ("enum { };", 1, '"}"'),
        ("enum e { 1 };", 1, '"1"'),
        ("struct;", 1, '";"'),
    ],
)
def test_errors(text: str, line: int, near: str) -> None:
    with pytest.raises(DError) as caught:
        parse_program(ProgramSource(text))
    assert (caught.value.tag, caught.value.text) == ("D_SYNTAX", f"syntax error near {near}")
    assert caught.value.position
    assert caught.value.position.line == line


@pytest.mark.parametrize(
    "text", ["struct a {" * 9999, "int " + "(" * 9999, "int x(" * 9999, "int a[" * 9999, "int " + "*" * 9999 + "x;"]
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(DError, match="nested too deeply"):
        parse_program(ProgramSource(text))
