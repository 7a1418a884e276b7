"""What arithmetic gives, on unsigned numbers of 32 or 64 bits.

Documentation/bpf/standardization/instruction-set.rst, "Arithmetic instructions". Division by
zero gives zero, the remainder of it the dividend; shifts use the low five or six bits of the count.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import instructions as i

MASKS = {32: 0xFFFF_FFFF, 64: 0xFFFF_FFFF_FFFF_FFFF}


def signed(value: int, bits: int) -> int:
    """The low `bits` of `value` as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def calculate(operation: int, left: int, right: int, bits: int, is_signed: bool = False) -> int:
    """`left` `operation` `right`; all three unsigned numbers of that many bits. `operation` is any but NEG
    and END."""
    if operation == i.ARSH:
        return signed(left, bits) >> (right & bits - 1) & MASKS[bits]
    if operation in (i.LSH, i.RSH):
        right &= bits - 1
    if operation in (i.DIV, i.MOD) and is_signed:
        return _divide_signed(operation, signed(left, bits), signed(right, bits)) & MASKS[bits]
    return _UNSIGNED[operation](left, right) & MASKS[bits]


def _divide_signed(operation: int, left: int, right: int) -> int:
    """Rounded towards zero; the remainder has the dividend's sign."""
    if not right:
        return 0 if operation == i.DIV else left
    quotient = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        quotient = -quotient
    return quotient if operation == i.DIV else left - quotient * right


_UNSIGNED: dict[int, Callable[[int, int], int]] = {
    i.ADD: lambda left, right: left + right,
    i.SUB: lambda left, right: left - right,
    i.MUL: lambda left, right: left * right,
    i.DIV: lambda left, right: left // right if right else 0,
    i.MOD: lambda left, right: left % right if right else left,
    i.OR: lambda left, right: left | right,
    i.AND: lambda left, right: left & right,
    i.XOR: lambda left, right: left ^ right,
    i.LSH: lambda left, right: left << right,
    i.RSH: lambda left, right: left >> right,
    i.MOV: lambda left, right: right,
}


def swap(value: int, width: int) -> int:
    """The low `width` bits (16, 32, 64) of `value` with their bytes in the other order; the rest zero."""
    size = width // 8
    return int.from_bytes((value & (1 << width) - 1).to_bytes(size, "little"), "big")
