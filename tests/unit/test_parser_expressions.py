"""Expressions: precedence, casts against parentheses, postfix forms, and any tree printed and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.d_parsing import parse_type
from support.d.d_source import bare, text_of

from sonde.frontends.d import syntax
from sonde.frontends.d.errors import DError
from sonde.frontends.d.expressions import PRECEDENCE
from sonde.frontends.d.parser import parse_expression
from sonde.model.errors import Position
from sonde.model.types import INT

HERE = Position(None, 1, 1)
KERNEL_TYPES = {"key_t", "state"}


def parse(text: str) -> syntax.Expr:
    return parse_expression(text, is_type_name=KERNEL_TYPES.__contains__)


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a || b ^^ c && d", "a || (b ^^ (c && d))"),
        ("a | b ^ c & d == e", "a | (b ^ (c & (d == e)))"),
        ("a < b << c + d", "a < (b << (c + d))"),
        ("a = b += c", "a = (b += c)"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a ? b, c : d", "a ? (b, c) : d"),
        ("a = b, c", "(a = b), c"),
        ("-a * !b", "(-a) * (!b)"),
        ("*p++", "*(p++)"),
        ("++*p", "++(*p)"),
        ("&a->b[c]", "&((a->b)[c])"),
        ("(int)a + b", "((int)a) + b"),
        ("(int)a->b", "(int)(a->b)"),
        ("sizeof a + b", "(sizeof a) + b"),
        ("stringof(a)  == b", "(stringof a) == b"),
        ("xlate <key_t *> (a)->b", "(xlate <key_t *> (a))->b"),
        ("(state)->x", "state->x"),
        ("(state + 1)", "state + 1"),
        ("(state * 2)", "state * 2"),
        ("(state)", "state"),
    ],
)
def test_grouping(text: str, grouped: str) -> None:
    assert bare(parse(text)) == bare(parse(grouped))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("(state)x", syntax.Cast),
        ("(state)(x)", syntax.Cast),
        ("(state *)x", syntax.Cast),
        ("(state **)x", syntax.Cast),
        ("(unsigned long)x", syntax.Cast),
        ("(struct a *)x", syntax.Cast),
        ("(string)x", syntax.Cast),
        ("(x)(y)", syntax.Call),
        ("sizeof (state)", syntax.SizeofType),
        ("sizeof (state[3])", syntax.SizeofType),
        ("sizeof (int)", syntax.SizeofType),
        ("sizeof (x)", syntax.SizeofExpr),
        ("sizeof x[3]", syntax.SizeofExpr),
        ("`jiffies", syntax.Identifier),
        ("self->x", syntax.ScopedVariable),
        ("this->int", syntax.ScopedVariable),
        ("self", syntax.Identifier),
        ("x.int", syntax.Member),
        ("x[1, a]", syntax.Index),
        ("@", syntax.Aggregation),
        ("@a[1, stack()]", syntax.Aggregation),
        ("offsetof(struct a, b)", syntax.Offsetof),
    ],
)
def test_kinds(text: str, node: type) -> None:
    assert type(parse(text)) is node


def test_names_split_at_the_last_backquote() -> None:
    assert parse("ext4`x") == syntax.Identifier(HERE, "x", "ext4")
    assert parse("`x") == syntax.Identifier(HERE, "x", "")
    assert parse("x") == syntax.Identifier(HERE, "x", None)


def test_aggregations() -> None:
    assert bare(parse("@")) == ("Aggregation", "_", None, "")
    assert bare(parse("@a[b] = count()"))[:2] == ("Assign", "=")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("i < != > 10", '"!="'),
        ("a && >= 5", '">="'),
        ("i */= i", '"/="'),
        ("sizeof(*)", '")"'),
        ("123a", '"a"'),
        ("x = [0, 1]", '"["'),
        ("int x", '"int"'),
        ("key_t x", '"key_t"'),
        ("offsetof(vnode_t, v_member)", '"vnode_t, v_member)"'),
        ("a[]", '"]"'),
        ("a .\n1 b", '"1"'),
        ('"a" "b"', '""b""'),
        ("a +", "end of input"),
        ("(a", "end of input"),
        ("", "end of input"),
    ],
)
def test_errors_show_where_they_are(text: str, near: str) -> None:
    with pytest.raises(DError) as caught:
        parse(text)
    assert (caught.value.tag, caught.value.text) == ("D_SYNTAX", f"syntax error near {near}")


@pytest.mark.share(9)
@pytest.mark.parametrize(
    "text",
    [
        "(" * 9999, "-" * 9999 + "1", "(int)" * 9999 + "1", "1?" * 9999, "1?1:" * 9999 + "1", "a[" * 9999, "f(" * 9999,
        "a=" * 9999 + "1", "a+" * 9999 + "1", "a" + "->b" * 9999, "@a[" * 9999, "(int[" * 9999, "(int(" * 9999,
        "(struct {int a[" * 9999, "(int" + "*" * 9999 + ")1", "a," * 9999 + "a", "1+(a[f(1?" * 9999,
    ],
)  # fmt: skip
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(DError, match="nested too deeply"):
        parse(text)


def test_fifty_levels_are_fine() -> None:
    parse("1+(" * 50 + "1" + ")" * 50)
    parse("a" + " + a" * 150)
    parse("f(" + "a, " * 5000 + "a)")


def test_types() -> None:
    assert bare(parse_type("const char *(*)[3]").declarator) == bare(parse_type("char *(*)[3]").declarator)
    with pytest.raises(DError, match='near "x"'):
        parse_type("int x")


NAMES = st.sampled_from(["a", "bc", "d_1", "x"])
CONSTANTS = st.integers(0, 2**31 - 1).map(lambda n: syntax.Integer(HERE, n, INT))
STRINGS = st.binary(max_size=4).map(lambda content: syntax.StringLiteral(HERE, content))
IDENTIFIERS = st.builds(syntax.Identifier, st.just(HERE), NAMES, st.sampled_from([None, "", "mod"]))
SCOPED = st.builds(syntax.ScopedVariable, st.just(HERE), st.sampled_from(["self", "this"]), NAMES)
TYPES = st.sampled_from(["int", "unsigned long *", "struct a * *", "string", "uint8_t"]).map(parse_type)


def deeper(inner: st.SearchStrategy[syntax.Expr]) -> st.SearchStrategy[syntax.Expr]:
    here = st.just(HERE)
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    crement = st.sampled_from(["++", "--"])
    return st.one_of(
        st.builds(syntax.Unary, here, st.sampled_from("+-~!*&"), inner),
        st.builds(syntax.Increment, here, crement, inner, st.booleans()),
        st.builds(syntax.Binary, here, st.sampled_from(sorted(PRECEDENCE)), inner, inner),
        st.builds(syntax.Assign, here, st.sampled_from(["=", "+=", "<<=", "^="]), inner, inner),
        st.builds(syntax.Conditional, here, inner, inner, inner),
        st.builds(syntax.Comma, here, inner, inner),
        st.builds(syntax.Cast, here, TYPES, inner),
        st.builds(syntax.SizeofExpr, here, inner),
        st.builds(syntax.SizeofType, here, TYPES),
        st.builds(syntax.Offsetof, here, TYPES, NAMES),
        st.builds(syntax.Stringof, here, inner),
        st.builds(syntax.Xlate, here, TYPES, inner),
        st.builds(syntax.Member, here, inner, NAMES, st.booleans()),
        st.builds(syntax.Index, here, inner, several),
        st.builds(syntax.Call, here, inner, st.lists(inner, max_size=2).map(tuple)),
        st.builds(syntax.Aggregation, here, NAMES, st.none() | several, st.just("")),
    )


@given(st.recursive(CONSTANTS | STRINGS | IDENTIFIERS | SCOPED, deeper, max_leaves=20))
def test_printed_expressions_read_back(tree: syntax.Expr) -> None:
    assert bare(parse_expression(text_of(tree))) == bare(tree)
