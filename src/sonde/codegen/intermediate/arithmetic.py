"""What eBPF's arithmetic gives for constants: the folding that builder and value numbering share.

Source: Documentation/bpf/standardization/instruction-set.rst of the kernel. Values are signed 64-bit numbers.
"""

from __future__ import annotations

from collections.abc import Callable

MASK64 = (1 << 64) - 1


def signed(value: int, bits: int = 64) -> int:
    """The low `bits` of `value` as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def extend(value: int, size: int, is_signed: bool) -> int:
    """The low `size` bytes, extended, as a signed 64-bit number."""
    bits = size * 8
    return signed(value, bits) if is_signed else signed(value & ((1 << bits) - 1))


def evaluate(op: str, left: int, right: int, bits: int = 64) -> int:
    """`left op right` as a register of 64 bits holds it afterwards; division by zero gives 0, modulo the dividend."""
    mask = (1 << bits) - 1
    a, b = left & mask, right & mask
    if op in ("sdiv", "smod"):
        result = _signed_division(op, signed(a, bits), signed(b, bits))
    elif op in ("lsh", "rsh", "arsh"):
        result = _shift(op, a, b & (bits - 1), bits)
    else:
        result = _UNSIGNED[op](a, b)
    result &= mask
    return signed(result) if bits == 64 else result


def is_immediate(op: str, value: int, bits: int = 64) -> bool:
    """Whether the verifier takes the constant as an instruction's right operand: no shift out, no division by zero."""
    if op in ("lsh", "rsh", "arsh"):
        return 0 <= value < bits
    if op in ("div", "mod", "sdiv", "smod") and value == 0:
        return False
    return -0x80000000 <= value <= 0x7FFFFFFF


def _signed_division(op: str, a: int, b: int) -> int:
    if b == 0:
        return 0 if op == "sdiv" else a
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if op == "sdiv" else a - quotient * b


def _shift(op: str, a: int, count: int, bits: int) -> int:
    if op == "lsh":
        return a << count
    return (a if op == "rsh" else signed(a, bits)) >> count


_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else a,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "set": lambda a, b: (a & b) != 0,
}


def compare(op: str, left: int, right: int, bits: int = 64) -> bool:
    """Whether a jump with this condition is taken."""
    mask = (1 << bits) - 1
    a, b = left & mask, right & mask
    if op[0] == "s" and op != "set":
        return _COMPARE[op[1:]](signed(a, bits), signed(b, bits))
    return _COMPARE[op](a, b)
