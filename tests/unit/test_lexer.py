"""Tokens of D: constants, comments, control lines, macro variables and the two regimes."""

from __future__ import annotations

import pytest

from sonde.frontends.d import syntax
from sonde.frontends.d.errors import DError
from sonde.frontends.d.lexer import END, Lexer, Token
from sonde.frontends.d.source import Macros, ProgramSource, check_arguments_used
from sonde.model.errors import Position
from sonde.model.types import INT, LLONG, LONG, UINT, ULLONG, ULONG


def tokens(text: str, macros: Macros = Macros()) -> list[Token]:  # noqa: B008
    lexer = Lexer(ProgramSource(text), macros)
    found = []
    while (token := lexer.next()).kind != END:
        found.append(token)
    return found


def texts(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


def value(text: str, macros: Macros = Macros()) -> object:  # noqa: B008
    (token,) = tokens(text, macros)
    assert token.value is not None
    return token.value.value


def error_of(text: str, macros: Macros = Macros()) -> DError:  # noqa: B008
    with pytest.raises(DError) as caught:
        tokens(text, macros)
    return caught.value


@pytest.mark.parametrize(
    ("text", "number", "kind"),
    [
        ("0", 0, INT),
        ("2147483647", 2147483647, INT),
        ("2147483648", 2147483648, LONG),
        ("0x7fffffff", 0x7FFFFFFF, INT),
        ("0x80000000", 0x80000000, UINT),
        ("0x100000000", 0x100000000, LONG),
        ("0xffffffffffffffff", 0xFFFFFFFFFFFFFFFF, ULONG),
        ("017", 15, INT),
        ("1u", 1, UINT),
        ("1l", 1, LONG),
        ("1UL", 1, ULONG),
        ("1ll", 1, LLONG),
        ("1ull", 1, ULLONG),
        ("4294967296u", 4294967296, ULONG),
        ("18446744073709551615", 18446744073709551615, ULONG),
    ],
)
def test_integers_have_the_type_that_c_gives_them(text: str, number: int, kind: object) -> None:
    (token,) = tokens(text)
    assert isinstance(token.value, syntax.Integer)
    assert (token.value.value, token.value.type) == (number, kind)


@pytest.mark.parametrize(
    ("text", "tag", "message"),
    [
        ("0x12345678123456781", "D_INT_OFLOW", "constant 0x12345678123456781 results in integer overflow"),
        ("18446744073709551616", "D_INT_OFLOW", "constant 18446744073709551616 results in integer overflow"),
        ("9" * 10000, "D_INT_OFLOW", f"constant {'9' * 10000} results in integer overflow"),
        ("09", "D_INT_DIGIT", "constant 09 contains invalid digit 9"),
        ("1.5", "D_SYNTAX", "floating-point constants are not permitted"),
        ("1e3", "D_SYNTAX", "floating-point constants are not permitted"),
        (".5", "D_SYNTAX", "floating-point constants are not permitted"),
        ("''", "D_CHR_NULL", "empty character constant"),
        ("'123456789'", "D_CHR_OFLOW", "character constant is too long"),
        ("'a\n'", "D_CHR_NL", "newline encountered in character constant"),
        ('"a\n"', "D_STR_NL", "newline encountered in string literal"),
        ('"a\\\n"', "D_STR_NL", "newline encountered in string literal"),
        ('"a', "D_SYNTAX", 'syntax error near """'),
        ("a # b", "D_SYNTAX", 'syntax error near "#"'),
        ("$", "D_SYNTAX", 'syntax error near "$"'),
        ("/* a /* b */", "D_SYNTAX", "/* encountered inside a comment"),
        ("/* a", "D_SYNTAX", "end-of-file encountered before matching */"),
        ("a\n#pragma", "D_SYNTAX", "end-of-file encountered before end of control line"),
        ("a)", "D_SYNTAX", "extra ) in input stream"),
        ("a]", "D_SYNTAX", "extra ] in input stream"),
        ("}", "D_SYNTAX", "extra } in input stream"),
        ("#define X\n", "D_PRAGCTL_INVAL", "invalid control directive: #define"),
        ("#line x\n", "D_PRAGMA_MALFORM", 'malformed #line <line> [ ["file"] state ]'),
        ("#line 1 x\n", "D_PRAGMA_MALFORM", 'malformed #line <line> [ ["file"] state ]'),
    ],
)
def test_what_cannot_be_read_is_named(text: str, tag: str, message: str) -> None:
    error = error_of(text)
    assert (error.tag, error.text) == (tag, message)


def test_a_newline_in_a_constant_is_noticed_on_the_next_line() -> None:
    position = error_of("a\n'b\n'").position
    assert position
    assert position.line == 3


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("'a'", 0x61),
        ("'ab'", 0x6162),
        ("'\\n'", 10),
        ("'\\''", 39),
        ("'\\377'", 255),
        ("'abcdefgh'", 0x6162636465666768),
    ],
)
def test_characters(text: str, number: int) -> None:
    assert value(text) == number


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('""', b""),
        (r'"a\tb\n"', b"a\tb\n"),
        (r'"\"\\"', b'"\\'),
        (r'"\101\0012"', b"A\x012"),
        (r'"\x41\x1042"', b"AB"),
        (r'"\q\."', b"\\q\\."),
        ('"\N{GREEK SMALL LETTER PI}"', b"\xcf\x80"),
    ],
)
def test_strings(text: str, content: bytes) -> None:
    assert value(text) == content


def test_the_longest_operator_wins() -> None:
    assert texts("a<<=b>>c->d++ ^^...^=!") == ["a", "<<=", "b", ">>", "c", "->", "d", "++", "^^", "...", "^=", "!"]


def test_names_may_begin_with_a_digit_before_a_backquote() -> None:
    assert texts("8139too`x vmlinux`y `z 10ms") == ["8139too`x", "vmlinux`y", "`z", "10", "ms"]


def test_positions_count_lines_and_columns_from_one() -> None:
    found = tokens("a /* \n */ b\n\tc")
    assert [(token.position.line, token.position.column) for token in found] == [(1, 1), (2, 5), (3, 2)]


def test_line_markers_set_the_position() -> None:
    first, second, third = tokens('a\n#line 40 "x.h"\nb\n# 7\nc')
    assert first.position == Position(None, 1, 1)
    assert second.position == Position("x.h", 40, 1, True)
    assert third.position == Position("x.h", 7, 1, True)


def test_pragmas_are_set_aside() -> None:
    lexer = Lexer(
        ProgramSource('a\n  # pragma D binding "1.0" x /* y */\n#pragma once\n#!sonde\n#ident "z"\nb'), Macros()
    )
    assert [lexer.next().text, lexer.next().text] == ["a", "b"]
    assert lexer.pragmas == [syntax.Pragma(Position(None, 2, 3), "binding", ('"1.0"', "x"))]


def test_error_is_a_pragma_of_its_own() -> None:
    lexer = Lexer(ProgramSource("#error no way\n"), Macros())
    lexer.next()
    assert lexer.pragmas == [syntax.Pragma(Position(None, 1, 1), "error", ("no", "way"))]


ARGUMENTS = Macros(pid=12, target=34, arguments=("prog", "42", "-7", "name", "it's so", "'quoted'", "int", "", "0x1f"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$pid", 12),
        ("$target", 34),
        ("$$pid", b"12"),
        ("$1", 42),
        ("$$1", b"42"),
        ("$2", -7),
        ("$4", b"it's so"),
        ("$5", b"quoted"),
        ("$$5", b"'quoted'"),
        ("$$3", b"name"),
        ("$$7", b""),
        ("$8", 31),
    ],
)
def test_macro_constants(text: str, expected: object) -> None:
    assert value(text, ARGUMENTS) == expected


def test_macro_arguments_that_are_words_are_words() -> None:
    name, keyword = tokens("$3 $6", ARGUMENTS)
    assert (name.kind, name.text) == ("NAME", "name")
    assert keyword.kind == "int"


def test_missing_arguments() -> None:
    for text in ("$9", "$$9", "$" + "9" * 5000):
        error = error_of(text, ARGUMENTS)
        assert (error.tag, error.text) == ("D_MACRO_UNDEF", f"macro argument {text} is not defined")
    assert value("$9", Macros(defaultargs=True)) == 0
    assert value("$$9", Macros(defaultargs=True)) == b""
    assert value("#pragma D option defaultargs\n$9") == 0


def test_unknown_and_too_big_macros() -> None:
    assert error_of("$foo").text == "macro variable $foo is not defined"
    assert error_of("$1", Macros(arguments=("", "99999999999999999999"))).tag == "D_MACRO_OFLOW"


def test_unused_arguments_are_an_error() -> None:
    lexer = Lexer(ProgramSource("$1 $3"), Macros(arguments=("p", "1", "2", "3")))
    lexer.next()
    lexer.next()
    assert lexer.used_arguments == {1, 3}
    with pytest.raises(DError, match=r"extraneous argument '3' \(\$3 is not referenced\)"):
        check_arguments_used(Macros(arguments=("p", "1", "2", "3")), frozenset({1, 2}), lexer.position())
    check_arguments_used(Macros(arguments=("p", "1", "2")), frozenset({2}), lexer.position())


def test_words_outside_clauses_are_whole_probe_descriptions() -> None:
    lexer = Lexer(ProgramSource("syscall::read*:entry, tick-1 pid$1:a.out::!x 12.5 {"), Macros())
    kinds = []
    while (token := lexer.next_outer()).kind != END:
        kinds.append((token.kind, token.text))
    assert kinds == [
        ("SPEC", "syscall::read*:entry"), (",", ","), ("SPEC", "tick-1"), ("SPEC", "pid$1:a.out::!x"),
        ("NUMBER", "12"), ("SPEC", ".5"), ("{", "{"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "pid$1:a.out:f(int):entry", "uprobe:/bin/x:ns::g(std::map<int, long> const&, char*) const:return",
        "pid1:a.out:largest<int>:entry", "pid1:a:S::operator()(int):",
        "pid1:a:(anonymous namespace)::f(void (*)(int)):8",
    ],
)  # fmt: skip
def test_names_of_the_source_belong_to_descriptions(text: str) -> None:
    for behind in (" /arg0 > (1)/ {", "{", ", tick-1 {"):
        assert Lexer(ProgramSource(text + behind), Macros()).next_outer().text == text


@pytest.mark.parametrize("text", ["pid1:a:f", "tick-1", "syscall::read:entry"])
def test_brackets_that_are_in_no_name(text: str) -> None:
    for behind in ("(int", "<1", "(;)"):
        assert Lexer(ProgramSource(text + behind), Macros()).next_outer().text == text
    assert Lexer(ProgramSource("tick-1(int)"), Macros()).next_outer().text == "tick-1"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a / b / {", ["NAME", "/", "NAME", "PREDICATE_END", "{"]),
        ("a / /* x */\n{", ["NAME", "PREDICATE_END", "{"]),
        ("a / /* x */ b", ["NAME", "/", "NAME"]),
        ("a /", ["NAME", "PREDICATE_END"]),
        ("a / ;", ["NAME", "PREDICATE_END", ";"]),
    ],
)
def test_a_slash_ends_a_predicate_only_before_what_can_follow_one(text: str, kinds: list[str]) -> None:
    lexer = Lexer(ProgramSource(text), Macros())
    lexer.in_predicate = True
    found = []
    while (token := lexer.next()).kind != END:
        found.append(token.kind)
    assert found == kinds
