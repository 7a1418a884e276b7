"""Where the calling convention of x86-64 puts parameters and results (System V ABI, AMD64 supplement, section 3.2.3).

What is said holds at a function's first instruction, and where it has just returned.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch.x86_64 import registers, unwinding
from sonde.model.location import Binary, Constant, InMemory, InRegister, Piece, Register, UnreadableError
from sonde.model.types import Array, Float, Member, Struct, Type, Void, align_of, resolve, size_of
from sonde.model.units import whole_words
from sonde.typed import NamedTuple

ARGUMENTS = tuple(map(registers.BY_DWARF_NUMBER.index, registers.ARGUMENTS))
"""By DWARF's numbers."""
_RESULTS = tuple(map(registers.BY_DWARF_NUMBER.index, registers.RESULTS))
_STACK = unwinding.STACK_POINTER
_VECTORS, _FIRST_VECTOR = 8, 17
_MOST_ELEMENTS = 16

INTEGER, SSE, MEMORY = "integer", "sse", "memory"

IN_VECTOR = "it is passed in a vector register, which a probe cannot read"


class TypedParameter(NamedTuple):
    """`by_reference`: a C++ object that must not be copied bit by bit, so that its address is passed."""

    type: Type
    by_reference: bool = False


def parameters(wanted: Sequence[TypedParameter], returns: Type, index: int) -> tuple[Piece, ...]:
    """Where the parameter `index` is when a function is entered. Raises UnreadableError."""
    integers = 1 if classes(returns) == (MEMORY,) else 0
    vectors, stack = 0, 8
    for at, each in enumerate(wanted[: index + 1]):
        kinds = (INTEGER,) if each.by_reference else classes(each.type)
        is_wanted = at == index
        own = range(integers, integers + kinds.count(INTEGER))
        in_memory = MEMORY in kinds or own.stop > len(ARGUMENTS) or vectors + kinds.count(SSE) > _VECTORS
        if in_memory:
            if not each.by_reference and align_of(each.type) > 8:
                stack += (8 - stack) % 16
            if is_wanted:
                return (Piece(InMemory(_at_stack(stack))),)
            stack += 8 if each.by_reference else whole_words(size_of(each.type))
            continue
        if is_wanted:
            if set(kinds) == {SSE}:
                raise UnreadableError(IN_VECTOR)
            if each.by_reference:
                return (Piece(InMemory(Register(ARGUMENTS[own.start]))),)
            return _in_registers(_drawn(kinds, list(ARGUMENTS[integers:]), vectors), size_of(each.type))
        integers, vectors = own.stop, vectors + kinds.count(SSE)
    raise UnreadableError("the function has no such parameter")


def result(returns: Type) -> tuple[Piece, ...]:
    """Where a function's result is when it has returned. Raises UnreadableError."""
    kinds = classes(returns)
    if kinds == (MEMORY,):
        if isinstance(resolve(returns), Float):
            raise UnreadableError("it is returned in a floating-point register, which a probe cannot read")
        return (Piece(InMemory(Register(_RESULTS[0]))),)
    if set(kinds) == {SSE}:
        raise UnreadableError(IN_VECTOR.replace("passed", "returned"))
    if not kinds:
        raise UnreadableError("the function returns nothing")
    return _in_registers(_drawn(kinds, list(_RESULTS), 0), size_of(returns))


def _drawn(kinds: tuple[str, ...], general: list[int], vectors: int) -> list[int]:
    """The registers of eightbytes of these classes: the next ones of each kind."""
    vector = iter(range(_FIRST_VECTOR + vectors, _FIRST_VECTOR + _VECTORS))
    whole = iter(general)
    return [next(vector if each == SSE else whole) for each in kinds]


def classes(kind: Type) -> tuple[str, ...]:
    """The classes of a type's eightbytes; of what is passed in memory MEMORY alone, of what is not passed none."""
    base, size = resolve(kind), size_of(kind)
    if isinstance(base, Void) or not size:
        return ()
    if size > 16 and isinstance(base, (Struct, Array)):
        return (MEMORY,)
    found: list[str | None] = [None] * ((size + 7) // 8)
    if not _classify(kind, 0, found):
        return (MEMORY,)
    if found == [None]:
        # An empty structure of C++, which has a byte that is nobody's.
        return ()
    return tuple(each or SSE for each in found)


def _classify(kind: Type, at: int, found: list[str | None]) -> bool:
    """Mark the eightbytes that an object at an offset in bytes is in; False if it makes the whole be in memory."""
    base = resolve(kind)
    if isinstance(base, Struct):
        return all(_classify_member(each, at, found) for each in base.members)
    if isinstance(base, Array):
        step = size_of(base.of)
        return all(_classify(base.of, at + step * each, found) for each in range(min(base.length or 0, _MOST_ELEMENTS)))
    if isinstance(base, Float):
        return _classify_float(base, at, found)
    if at % min(size_of(base) or 1, 8):
        return False
    for word in range(at // 8, (at + max(size_of(base), 1) + 7) // 8):
        if word < len(found):
            found[word] = INTEGER
    return True


def _classify_member(member: Member, at: int, found: list[str | None]) -> bool:
    if not member.bits:
        return _classify(member.type, at + member.offset // 8, found)
    first = at * 8 + member.offset
    for word in range(first // 64, (first + member.bits - 1) // 64 + 1):
        if word < len(found):
            found[word] = INTEGER
    return True


def _classify_float(base: Float, at: int, found: list[str | None]) -> bool:
    is_complex = base.name.endswith("_Complex")
    part = base.size // 2 if is_complex else base.size
    if at % part or (part > 8 and "long" in base.name):
        return False
    for word in range(at // 8, (at + base.size + 7) // 8):
        if word < len(found) and found[word] is None:
            # The upper half of a 16-byte number is in the same register.
            found[word] = SSE
    return True


def _in_registers(numbers: list[int], size: int) -> tuple[Piece, ...]:
    if len(numbers) == 1:
        return (Piece(InRegister(numbers[0])),)
    return tuple(Piece(InRegister(each), 64 if at + 1 < len(numbers) else (size - 8 * at) * 8)
                 for at, each in enumerate(numbers))  # fmt: skip


def _at_stack(offset: int) -> Binary:
    return Binary("plus", Register(_STACK), Constant(offset))
