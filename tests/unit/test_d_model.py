"""Constant folding against the model of D's integers, and the model against the examples of the reference."""

import pytest
from hypothesis import given
from support.d.catalog import expression
from support.d.d_model import (
    CHAR,
    ENUM,
    INT,
    LONG,
    SIDES,
    UCHAR,
    UINT,
    ULONG,
    USHORT,
    Expr,
    binary,
    cast,
    common,
    expressions,
    unary,
)
from support.suite.example_counts import long_run

from sonde.model.program import Const
from sonde.model.types import is_signed, size_of

pytestmark = pytest.mark.examples


@long_run(400)
@given(e=expressions(None, 4))
def test_constants_are_folded_as_the_program_computes(e):
    """To the value and to the type, by its size and sign."""
    folded = expression(e.text, SIDES)
    assert isinstance(folded, Const)
    assert (folded.value, size_of(folded.type), is_signed(folded.type)) == (e.value, e.type.size, e.type.signed)


N = Expr("n", INT, 100000)


@pytest.mark.parametrize(
    ("e", "kind", "value"),
    [
        (binary("*", N, N), INT, 10000000000),
        (cast(INT, binary("*", N, N)), INT, 1410065408),
        (cast(LONG, binary("*", N, N)), LONG, 10000000000),
        (binary("/", Expr("a", INT, -7), Expr("b", INT, 2)), INT, -3),
        (binary("%", Expr("a", INT, -7), Expr("b", INT, 3)), INT, -1),
        (binary("+", Expr("a", CHAR, 100), Expr("b", CHAR, 100)), CHAR, 200),
        (binary("-", Expr("a", UINT, 1), Expr("b", UINT, 2)), UINT, (1 << 64) - 1),
        (binary("<", Expr("a", INT, -1), Expr("b", UINT, 1)), INT, 0),
        (binary("<", Expr("a", INT, -1), Expr("b", UCHAR, 1)), INT, 1),
        (binary("/", Expr("a", LONG, -(1 << 63)), Expr("b", INT, -1)), LONG, -(1 << 63)),
        (binary(">>", Expr("a", INT, -8), Expr("b", ULONG, 65)), INT, -4),
        (binary("*", Expr("5", INT, 5, True), Expr("1000000000", INT, 10**9, True)), LONG, 5 * 10**9),
        (unary("~", Expr("a", USHORT, 0)), USHORT, (1 << 64) - 1),
    ],
)
def test_the_model_has_the_examples_of_the_reference(e, kind, value):
    assert (e.type, e.value) == (kind, value)


def test_the_common_type_is_the_larger_one_or_the_unsigned():
    assert common(CHAR, USHORT) == USHORT
    assert common(UCHAR, CHAR) == UCHAR
    assert common(INT, UINT) == UINT
    assert common(UINT, LONG) == LONG
    assert common(ENUM, CHAR) == INT
