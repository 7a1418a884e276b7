"""Which bucket a value belongs in (`sonde.model.buckets`): subprograms from a value to a word's number."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.model.buckets import QUANTIZE_ZERO, llquantize_values


def quantize_bucket() -> BpfFunction:
    """Bucket of a signed value: the highest bit of its size, found by halving."""
    b = Builder("quantize_bucket")
    value = b.in_register(b.unlinked(b.function.parameters[0]))
    positive, negative = b.label(), b.label()
    with b.when("eq", value, Imm(0)):
        b.ret(Imm(QUANTIZE_ZERO))
    b.branch("sgt", value, Imm(0), positive, negative)
    b.place(positive)
    b.ret(b.alu("add", _highest_bit(b, value), Imm(QUANTIZE_ZERO + 1)))
    b.place(negative)
    size = b.in_register(b.negate(value))
    least = b.label()
    b.branch("slt", size, Imm(0), least)
    b.ret(b.alu("sub", Imm(QUANTIZE_ZERO - 1), _highest_bit(b, size)))
    b.place(least)
    b.ret(Imm(0))
    return b.function


def divided_bucket(name: str, bits: int) -> BpfFunction:
    """Bucket of a signed value where each power of two has 2**bits of them."""
    b = Builder(name)
    value = b.in_register(b.unlinked(b.function.parameters[0]))
    with b.when("slt", value, Imm(0)):
        b.ret(Imm(0))
    with b.when("lt", value, Imm(1 << bits)):
        b.ret(b.alu("add", value, Imm(1)))
    exponent = b.in_register(b.alu("sub", _highest_bit(b, value), Imm(bits)))
    rest = b.alu("and", b.alu("rsh", value, exponent), Imm((1 << bits) - 1))
    power = b.alu("lsh", b.alu("add", exponent, Imm(1)), Imm(bits))
    b.ret(b.alu("add", b.alu("add", power, rest), Imm(1)))
    return b.function


def _highest_bit(b: Builder, value: Reg) -> Operand:
    """Without a branch: the verifier would follow all 64 ways, with what comes behind each."""
    rest: Operand = value
    bit: Operand = Imm(0)
    for step in (5, 4, 3, 2, 1, 0):
        shifted = b.alu("rsh", rest, Imm(1 << step))
        is_high = b.alu("rsh", b.alu("or", shifted, b.negate(shifted)), Imm(63))
        distance = b.alu("lsh", is_high, Imm(step))
        rest = b.alu("rsh", rest, distance)
        bit = b.alu("add", bit, distance)
    return bit


def llquantize_bucket(name: str, factor: int, low: int, high: int, steps: int) -> BpfFunction:
    """Bucket of a signed value, by binary search among the constant bounds."""
    b = Builder(name)
    value = b.function.parameters[0]
    bounds = [*llquantize_values(factor, low, high, steps), factor ** (high + 1)]
    middle = len(bounds)
    # All bits where it is negative: the verifier follows no way for each sign.
    sign = b.alu("arsh", value, Imm(63))
    size = b.in_register(b.alu("sub", b.alu("xor", value, sign), sign))
    number = _search(b, size, bounds)
    b.ret(b.alu("add", b.alu("sub", b.alu("xor", number, sign), sign), Imm(middle)))
    return b.function


def _search(b: Builder, size: Reg, bounds: list[int]) -> Reg:
    """How many of the ascending bounds are at most `size` (unsigned)."""
    result = b.register()
    end = b.label()

    def among(first: int, last: int) -> None:
        if first == last:
            b.move(result, Imm(first))
            b.jump(end)
            return
        middle = (first + last) // 2
        below = b.label()
        b.branch("lt", size, b.in_register(Imm(bounds[middle])), below)
        among(middle + 1, last)
        b.place(below)
        among(first, middle)

    among(0, len(bounds))
    b.place(end)
    # Here all ways come together for the verifier too, if it does not know the number.
    return b.in_register(b.forgotten(result, False))
