"""Where an argument of a static probe is, as far as a recording keeps what is there: in registers, or in memory at an
address that registers and constants give."""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.location import MASK, Binary, Constant, Extend, Load, Register, Value

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "plus": lambda left, right: left + right,
    "mul": lambda left, right: left * right,
}


def is_in_registers(value: Value) -> bool:
    match value:
        case Register() | Constant():
            return True
        case Extend(inner):
            return is_in_registers(inner)
        case Binary(operation, left, right):
            return operation in _OPERATIONS and is_in_registers(left) and is_in_registers(right)
    return False


def address_of(value: Value) -> Value | None:
    """The address that registers give, of an argument in memory; None of others."""
    if isinstance(value, Extend):
        return address_of(value.value)
    return value.address if isinstance(value, Load) and is_in_registers(value.address) else None


def computed(value: Value, register: Callable[[int], int]) -> int:
    """What registers, by their DWARF numbers, make of a value that is in them."""
    match value:
        case Register(number):
            return register(number)
        case Constant(number):
            return number & MASK
        case Extend(inner, size, is_signed):
            bits = computed(inner, register) & (1 << 8 * size) - 1
            return bits - (is_signed and bits >> 8 * size - 1) * (1 << 8 * size) & MASK
        case Binary(operation, left, right):
            return _OPERATIONS[operation](computed(left, register), computed(right, register)) & MASK
    raise AssertionError(value)
