"""What a conditional jump tells of the numbers that it compares, on each of its two ways."""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.bpf.work.numbers import CELL, FUNCTION, MAX32, MAX64, NUMBER, STACK, Known, signed
from sonde.typed import TypeAlias

Range: TypeAlias = "tuple[int, int]"
Ranges: TypeAlias = "tuple[Range, Range] | None"
"""Of both operands, without a sign; None where the way cannot be gone."""

_OPPOSITE = {
    i.JEQ: i.JNE, i.JNE: i.JEQ, i.JGT: i.JLE, i.JLE: i.JGT, i.JGE: i.JLT, i.JLT: i.JGE,
    i.JSGT: i.JSLE, i.JSLE: i.JSGT, i.JSGE: i.JSLT, i.JSLT: i.JSGE,
}  # fmt: skip
_SIGNED = {i.JSGT: i.JGT, i.JSGE: i.JGE, i.JSLT: i.JLT, i.JSLE: i.JLE}


def ranges(x: Instruction, a: Known, b: Known, is_taken: bool) -> Ranges:
    """The numbers that both can be where the jump is taken, or is not."""
    whole = (a.low, a.high), (b.low, b.high)
    operation, is_wide = x.opcode & 0xF0, x.opcode & 7 == i.JMP
    if not a.is_number or not b.is_number:
        return None if _is_never(operation, a, b, is_taken) else whole
    if not is_wide and (a.high > MAX32 or b.high > MAX32):
        return whole
    if operation == i.JSET:
        return _tested(a, b, is_taken)
    if not is_taken:
        operation = _OPPOSITE[operation]
    if operation not in _SIGNED:
        return _compared(operation, *whole)
    bits = 64 if is_wide else 32
    found = _compared(_SIGNED[operation], signed(a, bits), signed(b, bits))
    if found is None:
        return None
    most = MAX64 if is_wide else MAX32
    return _without_sign(found[0], whole[0], most), _without_sign(found[1], whole[1], most)


def _is_never(operation: int, a: Known, b: Known, is_taken: bool) -> bool:
    """Whether a comparison with 0 of what is an address for sure cannot go this way."""
    is_address = a.kind in (STACK, CELL, FUNCTION) and b.kind == NUMBER and not b.high
    return is_address and operation in (i.JEQ, i.JNE) and is_taken == (operation == i.JEQ)


def _tested(a: Known, b: Known, is_taken: bool) -> Ranges:
    whole = (a.low, a.high), (b.low, b.high)
    if a.low == a.high and b.low == b.high:
        return whole if bool(a.low & b.low) == is_taken else None
    return whole


def _without_sign(found: Range, before: Range, most: int) -> Range:
    low, high = found
    if low >= 0:
        return max(low, before[0]), min(high, before[1])
    if high < 0:
        return max(low + most + 1, before[0]), min(high + most + 1, before[1])
    return before


def _compared(operation: int, a: Range, b: Range) -> Ranges:
    if operation in (i.JLT, i.JLE):
        swapped = _compared(i.JGT if operation == i.JLT else i.JGE, b, a)
        return None if swapped is None else (swapped[1], swapped[0])
    if operation in (i.JGT, i.JGE):
        least = int(operation == i.JGT)
        a, b = (max(a[0], b[0] + least), a[1]), (b[0], min(b[1], a[1] - least))
    elif operation == i.JEQ:
        a = b = max(a[0], b[0]), min(a[1], b[1])
    elif operation == i.JNE:
        a, b = _without(a, b), _without(b, a)
    return None if a[0] > a[1] or b[0] > b[1] else (a, b)


def _without(a: Range, b: Range) -> Range:
    """What is left of a range that is not equal to a constant."""
    if b[0] != b[1]:
        return a
    return a[0] + (a[0] == b[0]), a[1] - (a[1] == b[0])
