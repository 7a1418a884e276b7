"""The way from a variable into it, `how->flags`, as the steps that fetch what is there (`spec.Fetch`)."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.location import InMemory, InRegister, IsBytes, IsValue, Nowhere, Piece, PointsInto
from sonde.model.spec import Fetch, FetchStep
from sonde.model.types import Array, Member, Pointer, Struct, Type, is_signed, name_of, resolve, size_of
from sonde.objects.errors import ObjectError
from sonde.objects.lines import PathStep, WantedVariable
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.fetching import fetches, pt_regs_offset, shifted, steps
from sonde.typed import NamedTuple

_NUMBERS = (1, 2, 4, 8)
_LARGEST = 1 << 16


class Reached(NamedTuple):
    """What has a type: its `steps` lead to its address, or, without `is_address`, to the number that it is."""

    type: Type
    steps: tuple[FetchStep, ...]
    is_address: bool


class FoundVariable(NamedTuple):
    """A variable of a line: how it was written, its type, and what fetches it to offset 0 of its place."""

    wanted: WantedVariable
    type: Type
    fetches: tuple[Fetch, ...]

    @property
    def is_number(self) -> bool:
        return not isinstance(resolve(self.type), (Struct, Array)) and size_of(self.type) in _NUMBERS


def follow(start: Reached, wanted: WantedVariable) -> FoundVariable:
    """The variable at the end of the way. Raises ObjectError."""
    here = start
    for part in wanted.parts:
        here = _into(here, part, wanted)
    here = _referred(here)
    return FoundVariable(wanted, here.type, (_fetch(here, wanted),))


def _referred(here: Reached) -> Reached:
    """What a reference of C++ refers to; anything else is itself."""
    base = resolve(here.type)
    return _pointed(here, base) if isinstance(base, Pointer) and base.is_reference else here


def located(kind: Type, pieces: Sequence[Piece], wanted: WantedVariable) -> FoundVariable:
    """The variable at the end of the way into what has these places. Raises ObjectError, UnsupportedError."""
    start = _start(kind, pieces, wanted)
    if start is not None:
        return follow(start, wanted)
    if wanted.parts:
        return _in_pieces(kind, pieces, wanted)
    return FoundVariable(wanted, kind, fetches(tuple(pieces), size_of(kind)))


def _start(kind: Type, pieces: Sequence[Piece], wanted: WantedVariable) -> Reached | None:
    """Where the way into a variable begins, None if it is in pieces, or a member is of one that is in no memory."""
    if len(pieces) > 1 or pieces[0].offset or pieces[0].bits:
        return None
    base = resolve(kind)
    is_number = isinstance(base, Pointer) or not (wanted.parts or isinstance(base, (Struct, Array)))
    match pieces[0].place:
        case InMemory(address):
            return Reached(kind, steps(address), True)
        case InRegister(number) if is_number:
            return Reached(kind, (FetchStep("register", pt_regs_offset(number)),), False)
        case IsValue(value) if is_number:
            return Reached(kind, steps(value), False)
    return None


def _in_pieces(kind: Type, pieces: Sequence[Piece], wanted: WantedVariable) -> FoundVariable:
    """A part of a variable that is in several places, at the end of a way that begins in one of them. Raises
    ObjectError, and UnsupportedError for what is in none or only a part of one."""
    offset, here, rest = _within(kind, wanted)
    at = 0
    for piece in pieces:
        bits = piece.bits or 8 * size_of(kind) - at
        if at <= 8 * offset and 8 * (offset + size_of(here)) <= at + bits:
            start = _in_piece(piece, 8 * offset - at, here)
            return follow(start, wanted._replace(parts=rest))._replace(wanted=wanted)
        at += bits
    raise UnsupportedError("it is in several places here, or parts of it are optimised out")


def _within(kind: Type, wanted: WantedVariable) -> tuple[int, Type, tuple[PathStep, ...]]:
    """How far the way goes without leaving the variable: the offset, what is there, and the rest of the way."""
    here, rest = Reached(kind, (), True), wanted.parts
    while rest and rest[0].kind != "->" and isinstance(resolve(here.type), (Struct, Array)):
        here, rest = _into(here, rest[0], wanted), rest[1:]
    return sum(each.operand for each in here.steps), here.type, rest


def _in_piece(piece: Piece, bits: int, kind: Type) -> Reached:
    """What is so many bits into a piece."""
    bits += piece.offset
    match piece.place:
        case InMemory(address) if not bits % 8:
            return _moved(Reached(kind, steps(address), True), kind, bits // 8)
        case InRegister(number) if not bits % 8:
            return Reached(kind, (FetchStep("register", pt_regs_offset(number)), *shifted(bits)), False)
        case IsValue(value) if not bits % 8:
            return Reached(kind, (*steps(value), *shifted(bits)), False)
        case IsBytes(content) if not bits % 8:
            number = int.from_bytes(content[bits // 8 :][:8], "little")
            return Reached(kind, (FetchStep("constant", number),), False)
        case PointsInto():
            raise UnsupportedError("it is a pointer that is not kept, only what it points to")
        case Nowhere():
            raise UnsupportedError("it is optimised out here")
    raise UnsupportedError("parts of it are not whole bytes")


def _into(here: Reached, part: PathStep, wanted: WantedVariable) -> Reached:
    here = _referred(here)
    base = resolve(here.type)
    if part.kind == "[":
        if isinstance(base, Array) and here.is_address:
            return _moved(here, base.of, part.number * size_of(base.of))
        if isinstance(base, Pointer):
            return _moved(_pointed(here, base), base.to, part.number * size_of(base.to))
        raise ObjectError(f"{wanted.text}: {name_of(here.type)} is no array and no pointer")
    if part.kind == "->":
        if not isinstance(base, Pointer):
            raise ObjectError(f"{wanted.text}: {name_of(here.type)} is no pointer", "a member of a structure has a dot")
        here = _pointed(here, base)
        base = resolve(here.type)
    elif isinstance(base, Pointer):
        raise ObjectError(f"{wanted.text}: {name_of(here.type)} is a pointer", f"write ->{part.name}")
    if not isinstance(base, Struct) or not here.is_address:
        raise ObjectError(f"{wanted.text}: {name_of(here.type)} has no members")
    offset, member = _member(base, part.name, wanted)
    return _moved(here, member.type, offset)


def _member(base: Struct, name: str, wanted: WantedVariable) -> tuple[int, Member]:
    """A member and its offset in bytes, also one of a structure without a name."""
    found = _find(base, name)
    if found is None:
        known = ", ".join(each.name for each in base.members[:12] if each.name)
        raise ObjectError(f"{wanted.text}: {name_of(base)} has no member {name}", f"it has {known}" if known else "")
    bits, member = found
    if member.bits or bits % 8:
        raise ObjectError(f"{wanted.text} is a bit-field, which has no address", "fetch the structure that it is in")
    return bits // 8, member


def _find(base: Struct, name: str, depth: int = 0) -> tuple[int, Member] | None:
    for each in base.members:
        if each.name == name:
            return each.offset, each
        inner = resolve(each.type)
        if not each.name and isinstance(inner, Struct) and depth < 16:
            found = _find(inner, name, depth + 1)
            if found is not None:
                return each.offset + found[0], found[1]
    return None


def _pointed(here: Reached, pointer: Pointer) -> Reached:
    steps = (*here.steps, FetchStep("dereference", 8)) if here.is_address else here.steps
    return Reached(pointer.to, steps, True)


def _moved(here: Reached, kind: Type, offset: int) -> Reached:
    steps = here.steps
    if steps and steps[-1].operation == "offset":
        offset += steps[-1].operand
        steps = steps[:-1]
    return Reached(kind, (*steps, FetchStep("offset", offset)) if offset else steps, True)


def _fetch(here: Reached, wanted: WantedVariable) -> Fetch:
    size = size_of(here.type)
    if not 0 < size <= _LARGEST:
        raise ObjectError(f"{wanted.text}, {name_of(here.type)}, has no size that can be fetched")
    if isinstance(resolve(here.type), (Struct, Array)) or size not in _NUMBERS:
        if not here.is_address:
            raise ObjectError(f"{wanted.text}, {name_of(here.type)}, is not in memory")
        return Fetch(0, size, "memory", here.steps)
    steps = (*here.steps, FetchStep("dereference", size)) if here.is_address else here.steps
    if is_signed(here.type) and size < 8:
        steps = (*steps, FetchStep("extend", size))
    return Fetch(0, size, "value", steps)
