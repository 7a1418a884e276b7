"""Which values an integer expression can have.

D computes in 64 bits, whatever the types of operands and result (docs/reference.md, "Integers"): so the value of
`n * n` need not be one that the type `int` holds. Where a value is stored, recorded, cast or given to a function it is
made one.
"""

from __future__ import annotations

from sonde.model.program import Binary, Comma, Conditional, Const, Expr, Unary
from sonde.model.types import Int, Type, is_signed, resolve, size_of

_TRUTHS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||", "^^"})


def wrap(value: int, kind: Type) -> int:
    """`value` reduced to what the integer type `kind` holds."""
    base = resolve(kind)
    if isinstance(base, Int) and base.name == "_Bool":
        return int(value != 0)
    return _reduced(value, 8 * size_of(kind), is_signed(kind))


def word(value: int, kind: Type) -> int:
    """`value` reduced to 64 bits, which are signed if `kind` is."""
    return _reduced(value, 64, is_signed(kind))


def _reduced(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def is_held(e: Expr) -> bool:
    """Whether the value is certainly one that the expression's type holds."""
    if isinstance(e, Const):
        return wrap(e.value, e.type) == e.value
    if size_of(e.type) >= 8:
        return True
    if isinstance(e, Unary):
        return e.op == "!"
    if isinstance(e, Binary):
        return e.op in _TRUTHS
    if isinstance(e, Comma):
        return is_held(e.right)
    return not isinstance(e, Conditional)
