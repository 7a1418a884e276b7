"""What is known of a register or of a word on the stack, as far as it decides how often loops turn: ranges of numbers,
and where addresses lead.

An estimate of what the kernel's verifier knows: what is not known is any number. Nothing here judges a program.
"""

from __future__ import annotations

from itertools import count

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.typed import NamedTuple

NUMBER, STACK, MAP, CELL, FUNCTION, TURNS, MAYBE = range(7)

MAX64, MAX32 = (1 << 64) - 1, (1 << 32) - 1
_SIGN64, _SIGN32 = 1 << 63, 1 << 31

_new = count(1)


class Known(NamedTuple):
    """`kind` is
    NUMBER    a number from `low` to `high`, without a sign, or an address that is not of the stack;
    STACK     the address of byte `high` of frame `low`, `high` is 1 if the place is not known;
    MAP       the map `name`;
    CELL      the address of byte `low` of the only value of the map `name`;
    FUNCTION  the function that begins at instruction `low`;
    TURNS     on the stack only: an iterator that gives at most `high` more elements;
    MAYBE     what NUMBER is, or an address of the stack.
    What has the same `id` is equal, 0: nothing else is. A number may be what another one was where a turn of a loop
    began, which is called `base`, and `least` to `most` more; `is_upper`: it is the upper half of 64 bits, and was a
    register with the id `whole`.
    """

    kind: int
    low: int
    high: int
    id: int = 0
    name: str = ""
    base: int = 0
    least: int = 0
    most: int = 0
    is_upper: bool = False
    whole: int = 0

    @property
    def is_number(self) -> bool:
        return self.kind in (NUMBER, MAYBE)


MAY_BE_STACK = Known(MAYBE, 0, MAX64)
UNKNOWN_PLACE = 1
"""Offsets in frames are negative or 0."""


def unknown(most: int = MAX64) -> Known:
    """A new number of which nothing else is known."""
    return Known(NUMBER, 0, most, next(_new))


def constant(value: int) -> Known:
    return Known(NUMBER, value & MAX64, value & MAX64)


def between(low: int, high: int) -> Known:
    return Known(NUMBER, low, high, 0 if low == high else next(_new))


def join(a: Known, b: Known) -> Known:
    """What holds of both."""
    if a == b:
        return a
    if a.kind == b.kind == NUMBER:
        made = between(min(a.low, b.low), max(a.high, b.high))
        if not a.base or a.base != b.base or a.is_upper or b.is_upper:
            return made
        return made._replace(base=a.base, least=min(a.least, b.least), most=max(a.most, b.most))
    if a.kind == b.kind == TURNS:
        return Known(TURNS, 0, max(a.high, b.high))
    if a.kind == b.kind == STACK and a.low == b.low:
        return Known(STACK, a.low, UNKNOWN_PLACE)
    may_be = {a.kind, b.kind} & {STACK, MAYBE}
    return MAY_BE_STACK if may_be else unknown()


def as_base(value: Known) -> Known:
    """The number where a turn of a loop begins."""
    return value._replace(base=next(_new), least=0, most=0, is_upper=False, whole=0)


def alike(a: Known, b: Known) -> bool:
    """Whether the same is known of both, whatever they are equal to."""
    return a[:3] == b[:3] and a.name == b.name


def signed(value: Known, bits: int) -> tuple[int, int]:
    """The range of the signed number that its low bits are."""
    sign = _SIGN64 if bits == 64 else _SIGN32
    if value.is_number and value.high < 2 * sign:
        if value.high < sign:
            return value.low, value.high
        if value.low >= sign:
            return value.low - 2 * sign, value.high - 2 * sign
    return -sign, sign - 1


def computed(x: Instruction, a: Known, b: Known) -> Known:
    """The result of an arithmetic instruction with these operands; `a` is what the destination was before."""
    operation, is_wide = x.opcode & 0xF0, x.opcode & 7 == i.ALU64
    if operation == i.MOV:
        return _moved(x, b, is_wide)
    if is_wide and (a.kind == STACK or b.kind == STACK):
        return _shifted(operation, a, b)
    if operation == i.END:
        return unknown((1 << x.imm) - 1 if x.imm in (16, 32) else MAX64)
    most = MAX64 if is_wide else MAX32
    if not is_wide:
        a, b = low_half(a), low_half(b)
    if is_wide and operation in (i.ADD, i.SUB) and MAYBE in (a.kind, b.kind):
        return MAY_BE_STACK
    if not a.is_number or not b.is_number:
        return _cell(operation, a, b) if is_wide else unknown(most)
    return _arithmetic(x, operation, a, b, most)


def _moved(x: Instruction, b: Known, is_wide: bool) -> Known:
    if x.offset:
        if b.kind == NUMBER and x.offset in (8, 16, 32) and b.high < 1 << (x.offset - 1):
            return b
        return unknown(MAX64 if is_wide else MAX32)
    return b if is_wide else low_half(b)


def _shifted(operation: int, a: Known, b: Known) -> Known:
    """An address of the stack, and what is added."""
    base, other = (a, b) if a.kind == STACK else (b, a)
    if operation == i.ADD or (operation == i.SUB and base is a):
        if other.kind == NUMBER and other.low == other.high and base.high <= 0:
            distance = other.low - (1 << 64) if other.low >= _SIGN64 else other.low
            place = base.high + (distance if operation == i.ADD else -distance)
            return base._replace(high=place) if place <= 0 else base._replace(high=UNKNOWN_PLACE)
        if other.is_number:
            return base._replace(high=UNKNOWN_PLACE)
    return MAY_BE_STACK if operation in (i.ADD, i.SUB) else unknown()


def _cell(operation: int, a: Known, b: Known) -> Known:
    if operation == i.ADD and a.kind == CELL and b.is_number and b.low == b.high:
        return a._replace(low=(a.low + b.low) & MAX64, high=(a.low + b.low) & MAX64)
    return unknown()


def low_half(value: Known) -> Known:
    """Its low 32 bits."""
    if value.is_number and value.high <= MAX32:
        return value if value.kind == NUMBER else value._replace(kind=NUMBER)
    if value.is_number and value.low == value.high:
        return constant(value.low & MAX32)
    return unknown(MAX32)


def _arithmetic(x: Instruction, operation: int, a: Known, b: Known, most: int) -> Known:
    low, high = 0, most
    if operation in (i.ADD, i.SUB):
        return _sum(a, b, -1 if operation == i.SUB else 1, most)
    if operation in (i.LSH, i.RSH, i.ARSH) and b.low == b.high == _HALF and most == MAX64:
        return _half(operation, a)
    if a.low == a.high and b.low == b.high and operation in _EXACT:
        return constant(_EXACT[operation](a.low, b.low) & most)
    if operation == i.MUL and a.high * b.high <= most:
        low, high = a.low * b.low, a.high * b.high
    elif operation == i.AND:
        low, high = 0, min(a.high, b.high)
    elif operation in (i.OR, i.XOR):
        low, high = 0, (1 << max(a.high.bit_length(), b.high.bit_length())) - 1
    elif operation in (i.LSH, i.RSH, i.ARSH) and b.low == b.high:
        low, high = _moved_bits(operation, a, b.low & (63 if most == MAX64 else 31), most)
    elif operation == i.RSH:
        low, high = 0, a.high
    elif operation == i.DIV and not x.offset and b.low:
        low, high = a.low // b.high, a.high // b.low
    elif operation == i.DIV and not x.offset:
        low, high = 0, a.high
    elif operation == i.MOD and not x.offset:
        # A division by 0 leaves the dividend.
        low, high = 0, min(a.high, b.high - 1) if b.low else a.high
    return between(low, min(high, most))


_EXACT = {i.MUL: int.__mul__, i.AND: int.__and__, i.OR: int.__or__, i.XOR: int.__xor__}

_HALF = 32


def _sum(a: Known, b: Known, sign: int, most: int) -> Known:
    """`a` and `sign` times `b`, in as many bits as `most` has; a constant may be negative."""
    if a.low == a.high and sign > 0:
        a, b = b, a
    low, high = (b.low, b.high) if sign > 0 else (-b.high, -b.low)
    for turned in (0, -sign * (most + 1)):
        if turned and (b.low != b.high or b.low <= most >> 1):
            break
        first, last = a.low + low + turned, a.high + high + turned
        if first >= 0 and last <= most:
            made = between(first, last)
            if not a.base or a.is_upper or b.low != b.high:
                return made
            return made._replace(base=a.base, least=a.least + low + turned, most=a.most + low + turned)
    if a.low == a.high and b.low == b.high:
        return constant((a.low + sign * b.low) & most)
    return unknown(most)


def _half(operation: int, a: Known) -> Known:
    """A shift by 32 bits: compilers make 64 bits of 32 by two."""
    if operation == i.LSH:
        if a.high > MAX32:
            return unknown()
        return a._replace(
            kind=NUMBER, low=a.low << _HALF, high=a.high << _HALF, id=next(_new), is_upper=True, whole=a.id
        )
    if operation == i.ARSH and a.high > MAX64 >> 1:
        return unknown()
    if a.is_upper:
        return a._replace(low=a.low >> _HALF, high=a.high >> _HALF, id=a.whole, is_upper=False, whole=0)
    return between(a.low >> _HALF, a.high >> _HALF)


def _moved_bits(operation: int, a: Known, bits: int, most: int) -> tuple[int, int]:
    if operation == i.LSH:
        return (a.low << bits, a.high << bits) if a.high << bits <= most else (0, most)
    if operation == i.ARSH and a.high > most >> 1:
        return 0, most
    return a.low >> bits, a.high >> bits
