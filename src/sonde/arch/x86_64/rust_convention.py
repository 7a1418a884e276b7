"""Where parameters of Rust's own functions are when they are entered, as far as that can be relied upon.

Rust does not promise how it passes values. What its compiler has done on x86-64 for years: an integer or a pointer is
one argument, a value of two of them is two (its fat pointers are such), whatever is larger is passed by its address.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch.x86_64 import unwinding
from sonde.arch.x86_64.classification import ARGUMENTS, IN_VECTOR
from sonde.model.location import Binary, Constant, InMemory, InRegister, Load, Nowhere, Piece, Register, UnreadableError
from sonde.model.types import Array, Enum, Float, Int, Pointer, Struct, Type, resolve, size_of
from sonde.typed import NamedTuple

_LARGEST = 16
_VECTORS = 8
_NOT_TOLD = "Rust does not tell how it is passed: use a line of the function, FILE@LINE"


class _Scalar(NamedTuple):
    """`offset` and `size` in bytes."""

    offset: int
    size: int
    is_float: bool


class _Registers:
    """Hands out the places of arguments."""

    def __init__(self, has_result_address: bool) -> None:
        self._integers = iter(ARGUMENTS[1 if has_result_address else 0 :])
        self._vectors = _VECTORS
        self._stack = 8

    def take(self, is_float: bool) -> InRegister | InMemory | Nowhere:
        if is_float:
            self._vectors -= 1
            return Nowhere() if self._vectors >= 0 else self._on_stack()
        number = next(self._integers, None)
        return self._on_stack() if number is None else InRegister(number)

    def _on_stack(self) -> InMemory:
        self._stack += 8
        return InMemory(Binary("plus", Register(unwinding.STACK_POINTER), Constant(self._stack - 8)))


def rust_parameters(kinds: Sequence[Type], returns: Type, index: int) -> tuple[Piece, ...]:
    """Where the parameter `index` is. Raises UnreadableError where that is not certain."""
    registers = _Registers(size_of(returns) > _LARGEST)
    found: tuple[Piece, ...] = ()
    for kind in kinds[: index + 1]:
        scalars = _scalars(kind, 0)
        if size_of(kind) > _LARGEST:
            found = (_behind(registers.take(False)),)
        elif scalars is None or len(scalars) > 2 or any(each.size > 8 for each in scalars):
            raise UnreadableError(_NOT_TOLD)
        else:
            found = _pieces([(each, registers.take(each.is_float)) for each in scalars])
    if all(isinstance(each.place, Nowhere) for each in found):
        raise UnreadableError(IN_VECTOR if found else "it takes no room")
    return found


def _behind(place: InRegister | InMemory | Nowhere) -> Piece:
    if isinstance(place, InRegister):
        return Piece(InMemory(Register(place.number)))
    assert isinstance(place, InMemory)
    return Piece(InMemory(Load(place.address, 8)))


def _pieces(parts: list[tuple[_Scalar, InRegister | InMemory | Nowhere]]) -> tuple[Piece, ...]:
    """In the order of memory, with nothing where nothing of the value is."""
    found: list[Piece] = []
    at = 0
    for scalar, place in parts:
        if scalar.offset > at:
            found.append(Piece(Nowhere(), 8 * (scalar.offset - at)))
        found.append(Piece(place, 8 * scalar.size))
        at = scalar.offset + scalar.size
    return tuple(found)


def _scalars(kind: Type, at: int) -> list[_Scalar] | None:
    """The numbers and pointers in a value, by their places; None if there is more to it."""
    base = resolve(kind)
    if isinstance(base, (Int, Enum, Pointer, Float)):
        return [_Scalar(at, size_of(base), isinstance(base, Float))]
    if not isinstance(base, Struct) or base.keyword != "struct":
        return [] if isinstance(base, Array) and not size_of(base) else None
    found: list[_Scalar] = []
    for member in sorted(base.members, key=lambda each: each.offset):
        inner = None if member.bits else _scalars(member.type, at + member.offset // 8)
        if inner is None:
            return None
        found += inner
    return found if found or not base.size else None
