"""Declarations: types, layout, and every way to get them wrong."""

from __future__ import annotations

import pytest
from support.d.catalog import check, error, expression

from sonde.model.program import Const
from sonde.model.types import Struct, Type, name_of, resolve


def declared(text: str) -> Type:
    return check(f"{text} BEGIN {{}}").variables[-1].type


def members(text: str) -> dict[str, tuple[int, int]]:
    base = resolve(declared(text))
    assert isinstance(base, Struct)
    return {m.name: (m.offset, m.bits) for m in base.members}


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("unsigned x;", "unsigned int"),
        ("long unsigned int x;", "unsigned long"),
        ("signed char x;", "signed char"),
        ("short int x;", "short"),
        ("long long x;", "long long"),
        ("const volatile int *x;", "int *"),
        ("int *x[3];", "int *[3]"),
        ("int (*x)[3];", "int (*)[3]"),
        ("int (*x)(char, ...);", "int (*)(char, ...)"),
        ("uint64_t x;", "uint64_t"),
        ("string x;", "string"),
        ("struct task_struct *x;", "struct task_struct *"),
        ("typedef int number; number x;", "number"),
        ("enum color x;", "enum color"),
    ],
)
def test_types(text: str, spelled: str) -> None:
    assert name_of(declared(text)) == spelled


def test_structures_are_laid_out_as_in_c() -> None:
    text = "struct s { char a; int b; char c[3]; long d; }; struct s x;"
    assert members(text) == {"a": (0, 0), "b": (32, 0), "c": (64, 0), "d": (128, 0)}


def test_a_structure_ends_on_its_alignment() -> None:
    found = expression("sizeof(struct s)", "struct s { long a; char b; };")
    assert isinstance(found, Const)
    assert found.value == 16


@pytest.mark.parametrize("text", ["string s[4];", "struct s { string s[4]; }; struct s x;"])
def test_strings_have_no_arrays_with_dimensions(text: str) -> None:
    assert "a dimension is not supported" in error(text + " BEGIN {}").text


def test_bit_fields_begin_at_bytes() -> None:
    text = "struct s { int a : 12; int b : 10; int c : 3; }; struct s x;"
    assert members(text) == {"a": (0, 12), "b": (16, 10), "c": (32, 3)}


def test_unions_share_their_start() -> None:
    assert members("union u { int a; char b[8]; } x;") == {"a": (0, 0), "b": (0, 0)}


def test_anonymous_members_are_found() -> None:
    found = expression("offsetof(struct s, c)", "struct s { int a; union { int b; char c; }; };")
    assert isinstance(found, Const)
    assert found.value == 4


def test_enumerators_count_on() -> None:
    found = expression("A + B + C", "enum e { A = 5, B, C = B * 2 };")
    assert isinstance(found, Const)
    assert found.value == 23


def test_forward_declarations_may_be_completed() -> None:
    text = "struct a { struct b *to; }; struct b { int x; }; struct a *x;"
    assert expression("x->to->x", text).type


def test_a_declaration_may_be_repeated() -> None:
    assert len(check("int x; int x; BEGIN {}").variables) == 1


def test_associative_arrays() -> None:
    (variable,) = check("int x[string, int]; BEGIN {}").variables
    assert [name_of(k) for k in variable.keys or ()] == ["string", "int"]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("char int x;", "D_DECL_COMBO"),
        ("signed unsigned x;", "D_DECL_COMBO"),
        ("unsigned float x;", "D_DECL_SIGNINT"),
        ("long struct s x;", "D_DECL_LONGINT"),
        ("short char x;", "D_DECL_CHARATTR"),
        ("unsigned void x;", "D_DECL_VOIDATTR"),
        ("self this int x;", "D_DECL_CLASS"),
        ("register int x;", "D_DECL_BADCLASS"),
        ("int f(static int);", "D_DECL_PARMCLASS"),
        ("int f(void x);", "D_DECL_PROTO_NAME"),
        ("int f(void, int);", "D_DECL_PROTO_VOID"),
        ("int x[void];", "D_DECL_PROTO_TYPE"),
        ("int f(int x[int]);", "D_DECL_PROTO_TYPE"),
        ("int x[int y[int]];", "D_DECL_PROTO_TYPE"),
        ("int (*x)(int y[int]);", "D_DECL_PROTO_TYPE"),
        ("inline int x[string y[int]] = 1;", "D_DECL_PROTO_TYPE"),
        ("provider p { probe q(int x[int]); };", "D_DECL_PROTO_TYPE"),
        ("struct s { int a; }; translator struct s < int x[int] > { a = 1; };", "D_DECL_DYNOBJ"),
        ("int x[sizeof(int[int])];", "D_DECL_DYNOBJ"),
        ("int x[int, ...];", "D_DECL_PROTO_VARARGS"),
        ("int x[-1];", "D_DECL_ARRSUB"),
        ("int x[0x100000000];", "D_DECL_ARRBIG"),
        ("int x[];", "D_DECL_ARRNULL"),
        ("this int x[int];", "D_DECL_LOCASSC"),
        ("int x; char x;", "D_DECL_IDRED"),
        ("int pid;", "D_DECL_IDRED"),
        ("typedef int t; typedef char t;", "D_DECL_IDRED"),
        ("struct s { int a; }; struct s { int a; };", "D_DECL_TYPERED"),
        ("struct s { int; };", "D_DECL_MNAME"),
        ("struct s { int x : 0; };", "D_DECL_BFCONST"),
        ("struct s { int x : 33; };", "D_DECL_BFSIZE"),
        ("struct s { float x : 3; };", "D_DECL_BFTYPE"),
        ("struct s { struct s x; };", "D_DECL_INCOMPLETE"),
        ("struct nowhere x;", "D_DECL_INCOMPLETE"),
        ("struct s { int x; char x; };", "D_UNKNOWN"),
        ("struct s { void x; };", "D_DECL_VOIDOBJ"),
        ("enum e { A = \"x\" };", "D_DECL_ENCONST"),
        ("enum e { A = 2147483648 };", "D_DECL_ENOFLOW"),
        ("enum e { A, A };", "D_UNKNOWN"),
        ("int;", "D_DECL_USELESS"),
    ],
)  # fmt: skip
def test_refusals(text: str, tag: str) -> None:
    assert error(f"{text} BEGIN {{}}").tag == tag
