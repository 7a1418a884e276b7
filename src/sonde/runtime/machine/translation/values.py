"""Values as the translator sees them: Python expressions with what is known of their range.

An expression may be anything that is congruent to the register's value modulo 2**64 (Python's integers have no width),
and is reduced only where it matters: `lo` and `hi` tell whether it does.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.runtime.machine import arithmetic
from sonde.typed import NamedTuple

M32, M64 = arithmetic.MASKS[32], arithmetic.MASKS[64]
_NOTHING: frozenset[str] = frozenset()
_WIDEST = 1 << 130
"""Beyond this, arithmetic on an unreduced number costs more than reducing it."""


class RangedExpression(NamedTuple):
    """The expression `term` + `addend` (a number alone where the term is empty) between `lo` and `hi`, both included.

    `reads` are the local variables in it; `loads` whether it reads memory; `depth` how deeply it is nested; `closed`
    whether the term needs no parentheses; `frame` whether the term is the frame pointer; `source` is the address that
    it was loaded from, if it is nothing but that.
    """

    term: str
    addend: int
    lo: int
    hi: int
    reads: frozenset[str] = _NOTHING
    loads: bool = False
    depth: int = 0
    closed: bool = True
    frame: bool = False
    source: RangedExpression | None = None

    @property
    def constant(self) -> int | None:
        return None if self.term else self.addend

    @property
    def is_simple(self) -> bool:
        """Whether repeating it costs nothing: a number or a variable."""
        return not self.term or (not self.addend and self.term.isidentifier())


def constant(number: int) -> RangedExpression:
    return RangedExpression("", number, number, number)


def variable(name: str, lo: int = 0, hi: int = M64) -> RangedExpression:
    """A local variable; a number if its range leaves only one."""
    return constant(lo) if lo == hi else RangedExpression(name, 0, lo, hi, frozenset((name,)))


def text(value: RangedExpression) -> str:
    """As Python; what stands beside it must not bind closer than `+`, or it must be `closed`."""
    if not value.term:
        return number(value.addend)
    if not value.addend:
        return value.term
    term = value.term if value.closed else f"({value.term})"
    return f"{term} {'-' if value.addend < 0 else '+'} {number(abs(value.addend))}"


def number(value: int) -> str:
    return str(value) if abs(value) < 1 << 16 else hex(value)


def operand(value: RangedExpression) -> str:
    """As Python, in parentheses where it needs them."""
    plain = (value.closed and not value.addend) or (not value.term and value.addend >= 0)
    return text(value) if plain else f"({text(value)})"


def make(expression: str, lo: int, hi: int, *parts: RangedExpression, closed: bool = False) -> RangedExpression:
    """A value of that expression, which is made of `parts`."""
    return RangedExpression(
        expression, 0, lo, hi, _NOTHING.union(*[part.reads for part in parts]),
        any(part.loads for part in parts), 1 + max((part.depth for part in parts), default=0), closed,
    )  # fmt: skip


def masked(value: RangedExpression, bits: int = 64) -> RangedExpression:
    """Its low `bits` as an unsigned number."""
    mask = arithmetic.MASKS.get(bits) or (1 << bits) - 1
    if value.lo >= 0 and value.hi <= mask:
        return value
    if not value.term:
        return constant(value.addend & mask)
    return make(f"{operand(value)} & {hex(mask)}", 0, mask, value)


def signed(value: RangedExpression, bits: int) -> RangedExpression:
    """Its low `bits` as a two's complement number."""
    value, half = masked(value, bits), 1 << bits - 1
    if value.hi < half:
        return value
    if value.lo >= half:
        return _shifted(value, -2 * half)
    return make(f"({operand(value)} ^ {hex(half)}) - {hex(half)}", -half, half - 1, value)


def calculate(
    operation: int, left: RangedExpression, right: RangedExpression, bits: int, is_signed: bool = False
) -> RangedExpression:
    """As `arithmetic.calculate`; the left one may be read twice if the operation is a division by a variable, so both
    have to be simple then."""
    if operation in (i.DIV, i.MOD):
        left, right = masked(left, bits), masked(right, bits)
    elif operation in (i.RSH, i.ARSH):
        left = masked(left, bits)
    if left.constant is not None and right.constant is not None:
        mask = arithmetic.MASKS[bits]
        return constant(arithmetic.calculate(operation, left.addend & mask, right.addend & mask, bits, is_signed))
    if operation in (i.DIV, i.MOD):
        return _divided(operation, left, right, bits, is_signed)
    if operation in (i.LSH, i.RSH, i.ARSH):
        made = _shift(operation, left, right, bits)
    else:
        made = _OPERATIONS[operation](left, right)
    if bits == 32 or made.hi - made.lo > _WIDEST:
        return masked(made, bits)
    return made


def _shifted(value: RangedExpression, by: int) -> RangedExpression:
    return value._replace(addend=value.addend + by, lo=value.lo + by, hi=value.hi + by)


def _near(value: int) -> int:
    """The same modulo 2**64, with the smaller absolute value."""
    return arithmetic.signed(value, 64)


def _add(left: RangedExpression, right: RangedExpression) -> RangedExpression:
    if not right.term:
        return _shifted(left, _addend(left, right.addend))
    if not left.term:
        return _shifted(right, _addend(right, left.addend))
    one, other = _term(left), _term(right)
    made = make(f"{one} + {other}", left.lo + right.lo, left.hi + right.hi, left, right)
    return made._replace(addend=left.addend + right.addend)


def _addend(value: RangedExpression, by: int) -> int:
    """`by`, or its negative kin where that keeps the sum in range or both leave it."""
    return by if value.lo + by >= 0 and value.hi + by <= M64 else _near(by)


def _subtract(left: RangedExpression, right: RangedExpression) -> RangedExpression:
    if not right.term:
        return _add(left, constant(-right.addend))
    one = _term(left) if left.term else number(left.addend)
    made = make(f"{one} - {_term(right)}", left.lo - right.hi, left.hi - right.lo, left, right)
    return made._replace(addend=(left.addend if left.term else 0) - right.addend)


def _term(value: RangedExpression) -> str:
    return value.term if value.closed else f"({value.term})"


def _multiply(left: RangedExpression, right: RangedExpression) -> RangedExpression:
    corners = [one * other for one in (left.lo, left.hi) for other in (right.lo, right.hi)]
    return make(f"{operand(left)} * {operand(right)}", min(corners), max(corners), left, right)


def _and(left: RangedExpression, right: RangedExpression) -> RangedExpression:
    if left.lo < 0 and right.lo < 0:
        right = masked(right)
    hi = min(value.hi for value in (left, right) if value.lo >= 0)
    return make(f"{operand(left)} & {operand(right)}", 0, hi, left, right)


def _or(left: RangedExpression, right: RangedExpression) -> RangedExpression:
    return _bitwise("|", left, right)


def _xor(left: RangedExpression, right: RangedExpression) -> RangedExpression:
    return _bitwise("^", left, right)


def _bitwise(sign: str, left: RangedExpression, right: RangedExpression) -> RangedExpression:
    left, right = masked(left), masked(right)
    hi = (1 << max(left.hi, right.hi).bit_length()) - 1
    return make(f"{operand(left)} {sign} {operand(right)}", 0, hi, left, right)


_OPERATIONS = {i.ADD: _add, i.SUB: _subtract, i.MUL: _multiply, i.AND: _and, i.OR: _or, i.XOR: _xor}


def _shift(operation: int, left: RangedExpression, right: RangedExpression, bits: int) -> RangedExpression:
    if right.constant is not None:
        count = constant(right.addend & bits - 1)
    elif right.lo >= 0 and right.hi < bits:
        count = right
    else:
        count = make(f"{operand(right)} & {bits - 1}", 0, bits - 1, right)
    if operation == i.LSH:
        corners = [end << by for end in (left.lo, left.hi) for by in (count.lo, count.hi)]
        return make(f"{operand(left)} << {operand(count)}", min(corners), max(corners), left, count)
    if operation == i.ARSH:
        left = signed(left, bits)
    corners = [end >> by for end in (left.lo, left.hi) for by in (count.lo, count.hi)]
    return make(f"{operand(left)} >> {operand(count)}", min(corners), max(corners), left, count)


def _divided(
    operation: int, left: RangedExpression, right: RangedExpression, bits: int, is_signed: bool
) -> RangedExpression:
    if is_signed:
        return make(f"calculate({operation}, {text(left)}, {text(right)}, {bits}, True)", 0,
                    arithmetic.MASKS[bits], left, right, closed=True)  # fmt: skip
    sign = "//" if operation == i.DIV else "%"
    quotient = f"{operand(left)} {sign} {operand(right)}"
    hi = left.hi if operation == i.DIV else max(left.hi, right.hi)
    if right.lo > 0:
        return make(quotient, 0, hi, left, right)
    otherwise = "0" if operation == i.DIV else text(left)
    if right.constant == 0:
        return constant(0) if operation == i.DIV else left
    return make(f"({quotient} if {operand(right)} else {otherwise})", 0, hi, left, right, closed=True)


def extended(value: RangedExpression, width: int, bits: int) -> RangedExpression:
    """The low `width` bits sign-extended to `bits`."""
    made = signed(value, width)
    return masked(made, bits) if bits == 32 else made


def swapped(value: RangedExpression, width: int) -> RangedExpression:
    """The low `width` bits with their bytes in the other order."""
    value = masked(value, width)
    if value.constant is not None:
        return constant(arithmetic.swap(value.addend, width))
    return make(f"swap({text(value)}, {width})", 0, (1 << width) - 1, value, closed=True)


_SIGNS = {
    i.JEQ: ("==", "!="), i.JNE: ("!=", "=="), i.JGT: (">", "<="), i.JLE: ("<=", ">"), i.JGE: (">=", "<"),
    i.JLT: ("<", ">="), i.JSGT: (">", "<="), i.JSLE: ("<=", ">"), i.JSGE: (">=", "<"), i.JSLT: ("<", ">="),
}  # fmt: skip
SIGNED_CONDITIONS = frozenset({i.JSGT, i.JSGE, i.JSLT, i.JSLE})


def condition(operation: int, left: RangedExpression, right: RangedExpression, bits: int) -> tuple[str, str]:
    """The condition as Python, and its negation."""
    if operation == i.JSET:
        both = masked(_and(left, right), bits)
        return text(both), f"not {operand(both)}"
    yes, no = _SIGNS[operation]
    if operation in SIGNED_CONDITIONS:
        if right.constant == 0 and yes in ("<", ">="):
            # The sign alone decides.
            half = constant(1 << bits - 1)
            return condition(i.JGE if yes == "<" else i.JLT, left, half, bits)
        left, right = signed(left, bits), signed(right, bits)
    else:
        left, right = masked(left, bits), masked(right, bits)
    if right.constant == 0 and yes in ("==", "!="):
        sides = f"not {operand(left)}", text(left)
        return sides if yes == "==" else sides[::-1]
    # A comparison binds less than anything that stands in an operand, a conditional expression has its parentheses.
    return f"{text(left)} {yes} {text(right)}", f"{text(left)} {no} {text(right)}"
