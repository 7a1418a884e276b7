"""Values as trees of what makes them, and places of variables: pure data that the engines turn into code.

All numbers are of 64 bits and wrap around. Registers have the numbers that DWARF gives them.
"""

from __future__ import annotations

from sonde.typed import NamedTuple, TypeAlias

MASK = (1 << 64) - 1


class UnreadableError(Exception):
    """A value is somewhere, but no probe can read it there, or nobody tells where: why, for people."""


class Constant(NamedTuple):
    value: int


class Address(NamedTuple):
    """A link-time address: what is there is further on by as much as the object is loaded away from its place."""

    value: int


class KernelAddress(NamedTuple):
    """An address so far from a symbol of the kernel, written module`symbol: the machine that runs it knows where that
    is."""

    symbol: str
    offset: int


class Register(NamedTuple):
    number: int


class EntryRegister(NamedTuple):
    """What the register had when the function was entered: known where a probe at its entry has kept it."""

    number: int


class EntryParameter(NamedTuple):
    """What the caller gave for the parameter whose entry is so far behind the start of its unit: the function does not
    take it, since the compiler has removed it or made it something else."""

    entry: int


class ThreadLocal(NamedTuple):
    """The address of the object's thread-local data at an offset, in the thread that is at the probe."""

    offset: Value


class ThreadPointer(NamedTuple):
    """The base of the segment fs, which thread-local data are found from (ELF Handling For Thread-Local Storage)."""


class Chosen(NamedTuple):
    """The value of the case whose number `key` is; there is none where `key` is none of them."""

    key: Value
    cases: tuple[tuple[Value, Value], ...]


class Load(NamedTuple):
    """The unsigned number of `size` bytes at an address."""

    address: Value
    size: int


class Extend(NamedTuple):
    """The lowest `size` bytes of a value as a signed or an unsigned number."""

    value: Value
    size: int
    signed: bool


class Unary(NamedTuple):
    """`operation` is `neg`, `not` or `abs`."""

    operation: str
    value: Value


class Binary(NamedTuple):
    """`operation` is `plus minus mul and or xor shl shr shra`, signed `div mod eq ne lt le gt ge` or unsigned
    `udiv umod ult ule ugt uge`. Shifts by 64 or more move all bits out. Division by 0 gives 0."""

    operation: str
    left: Value
    right: Value


Value: TypeAlias = (
    Constant
    | Address
    | KernelAddress
    | Register
    | EntryRegister
    | EntryParameter
    | ThreadLocal
    | ThreadPointer
    | Chosen
    | Load
    | Extend
    | Unary
    | Binary
)


class InMemory(NamedTuple):
    address: Value


class InRegister(NamedTuple):
    number: int


class IsValue(NamedTuple):
    """The variable is nowhere: this is its value."""

    value: Value


class IsBytes(NamedTuple):
    content: bytes


class PointsInto(NamedTuple):
    """A pointer that is not kept, `offset` bytes into the variable whose entry is at `entry` in .debug_info."""

    entry: int
    offset: int


class Nowhere(NamedTuple):
    """Optimised out."""


VariablePlace: TypeAlias = InMemory | InRegister | IsValue | IsBytes | PointsInto | Nowhere


class Piece(NamedTuple):
    """A part of a variable: `bits` of it, all if 0, that are `offset` bits into the place."""

    place: VariablePlace
    bits: int = 0
    offset: int = 0


def fold(operation: str, left: int, right: int) -> int:
    """A binary operation on two numbers of 64 bits."""
    signed_left, signed_right = signed(left), signed(right)
    match operation:
        case "plus":
            result = left + right
        case "minus":
            result = left - right
        case "mul":
            result = left * right
        case "and":
            result = left & right
        case "or":
            result = left | right
        case "xor":
            result = left ^ right
        case "shl":
            result = left << right if right < 64 else 0
        case "shr":
            result = left >> right if right < 64 else 0
        case "shra":
            result = signed_left >> min(right, 63)
        case "div" | "mod":
            result = _divide(operation, signed_left, signed_right)
        case "udiv":
            result = left // right if right else 0
        case "umod":
            result = left % right if right else 0
        case _:
            pair = (left, right) if operation[0] == "u" else (signed_left, signed_right)
            result = _compare(operation[-2:], *pair)
    return result & MASK


def _divide(operation: str, left: int, right: int) -> int:
    """As C does: towards zero."""
    if not right:
        return 0
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if operation == "div" else left - quotient * right


def _compare(operation: str, left: int, right: int) -> int:
    table = {"eq": left == right, "ne": left != right, "lt": left < right, "le": left <= right, "gt": left > right}
    return int(table.get(operation, left >= right))


def signed(value: int, size: int = 8) -> int:
    """The lowest `size` bytes as a signed number."""
    value &= (1 << 8 * size) - 1
    return value - (value >> 8 * size - 1 << 8 * size)


def binary(operation: str, left: Value, right: Value) -> Value:
    """Simplified where constants are known: offsets are gathered in one."""
    if isinstance(right, Constant):
        if isinstance(left, Constant):
            return Constant(fold(operation, left.value, right.value))
        if operation == "minus":
            operation, right = "plus", Constant(-right.value & MASK)
        if operation == "plus":
            if not right.value:
                return left
            if isinstance(left, Binary) and left.operation == "plus" and isinstance(left.right, Constant):
                return binary("plus", left.left, Constant(left.right.value + right.value & MASK))
    elif isinstance(left, Constant) and operation == "plus":
        return binary("plus", right, left)
    return Binary(operation, left, right)


def unary(operation: str, value: Value) -> Value:
    if isinstance(value, Constant):
        number = signed(value.value)
        return Constant({"neg": -number, "not": ~number}.get(operation, abs(number)) & MASK)
    return Unary(operation, value)


def extend(value: Value, size: int, is_signed: bool) -> Value:
    if size >= 8:
        return value
    if isinstance(value, Constant):
        return Constant((signed(value.value, size) if is_signed else value.value & (1 << 8 * size) - 1) & MASK)
    return value if isinstance(value, Load) and value.size <= size and not is_signed else Extend(value, size, is_signed)


def lowest(value: Value, size: int) -> Value:
    """A value that has the same lowest `size` bytes, without the extensions that do not matter for them."""
    while isinstance(value, Extend) and value.size >= size:
        value = value.value
    return value
