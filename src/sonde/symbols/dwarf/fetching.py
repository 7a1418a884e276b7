"""Places as the steps of spec.Fetch, which both engines can take: one number, changed step by step."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.arch import registers
from sonde.model.location import (
    MASK,
    Address,
    Binary,
    Constant,
    EntryParameter,
    EntryRegister,
    Extend,
    InMemory,
    InRegister,
    IsBytes,
    IsValue,
    Load,
    Nowhere,
    Piece,
    PointsInto,
    Register,
    ThreadLocal,
    ThreadPointer,
    Value,
    VariablePlace,
    signed,
)
from sonde.model.spec import Fetch, FetchStep
from sonde.symbols.dwarf.expressions import UnsupportedError

_SIZES = (8, 4, 2, 1)


def fetches(pieces: tuple[Piece, ...], size: int, offset: int = 0, bias: int = 0) -> tuple[Fetch, ...]:
    """What fetches a variable of `size` bytes to an offset of the buffer. Raises UnsupportedError, which says why not.

    `bias` is added to link-time addresses. All of the variable has to be somewhere.
    """
    found: list[Fetch] = []
    at = 0
    for piece in pieces:
        bits = piece.bits or (size - at) * 8
        if bits % 8 or piece.offset % 8:
            raise UnsupportedError("parts of it are not whole bytes")
        width = min(bits // 8, size - at)
        if width > 0:
            found += _piece(piece.place, piece.offset // 8, width, offset + at, bias)
        at += bits // 8
    if at < size:
        raise UnsupportedError("parts of it are optimised out here")
    return tuple(found)


def _piece(place: VariablePlace, inside: int, size: int, offset: int, bias: int) -> list[Fetch]:
    match place:
        case InMemory(address):
            return [Fetch(offset, size, "memory", (*steps(address, bias), *_moved(inside)))]
        case InRegister(number):
            return _number((FetchStep("register", pt_regs_offset(number)),), inside, size, offset)
        case IsValue(value):
            return _number(steps(value, bias), inside, size, offset)
        case IsBytes(content):
            content = content[inside : inside + size]
            if len(content) < size:
                raise UnsupportedError("parts of it are optimised out here")
            return [
                Fetch(
                    offset + at,
                    width,
                    "value",
                    (FetchStep("constant", int.from_bytes(content[at : at + width], "little")),),
                )
                for at, width in _widths(size)
            ]
        case PointsInto():
            raise UnsupportedError("it is a pointer that is not kept, only what it points to")
        case Nowhere():
            raise UnsupportedError("it is optimised out here")


def _number(way: tuple[FetchStep, ...], inside: int, size: int, offset: int) -> list[Fetch]:
    """Bytes of a number, from `inside` on."""
    if inside + size > _SIZES[0]:
        raise UnsupportedError("it is larger than the register that it is in")
    return [Fetch(offset + at, width, "value", (*way, *shifted(8 * (inside + at)))) for at, width in _widths(size)]


def shifted(bits: int) -> tuple[FetchStep, ...]:
    """The step to the part of a number that is above so many bits."""
    return (FetchStep("shift", bits),) if bits else ()


def _widths(size: int) -> list[tuple[int, int]]:
    found, at = [], 0
    while at < size:
        width = next(each for each in _SIZES if each <= size - at)
        found.append((at, width))
        at += width
    return found


def _moved(inside: int) -> tuple[FetchStep, ...]:
    return (FetchStep("offset", inside),) if inside else ()


def pt_regs_offset(number: int) -> int:
    """Where struct pt_regs has a register by DWARF's number. Raises UnsupportedError."""
    if number >= len(registers.BY_DWARF_NUMBER):
        raise UnsupportedError("it is in a vector register, which a probe cannot read")
    return registers.BY_DWARF_NUMBER[number]


def steps(value: Value, bias: int = 0) -> tuple[FetchStep, ...]:
    """The steps that make a value. Raises UnsupportedError where one number is not enough."""
    match value:
        case Constant(number):
            return (FetchStep("constant", number),)
        case Address(number):
            return (FetchStep("constant", number + bias & MASK),)
        case Register(number):
            return (FetchStep("register", pt_regs_offset(number)),)
        case Binary("plus", inner, Constant(number)):
            return (*steps(inner, bias), FetchStep("offset", signed(number)))
        case Load(address, size):
            return (*steps(address, bias), FetchStep("dereference", size))
        case Extend(inner, size, True) if size < 8:
            return (*steps(inner, bias), FetchStep("extend", size))
        case EntryRegister() | EntryParameter():
            raise UnsupportedError("it is what a register had when the function was entered")
    raise UnsupportedError(_why_not(value))


def _why_not(value: Value) -> str:
    """Why no steps make a value: they change one number."""
    inside = list(_inside(value))
    if any(isinstance(each, (ThreadLocal, ThreadPointer)) for each in inside):
        return "it is thread-local"
    of = {each.number for each in inside if isinstance(each, Register)}
    return f"it has to be computed{', from two registers' if len(of) > 1 else ''}"


def _inside(value: object) -> Iterator[object]:
    """A value and all that it is made of."""
    yield value
    if isinstance(value, tuple):
        for each in value:
            yield from _inside(each)
