"""Places of variables in one process: what debug information leaves open, where the object is loaded and where the
thread's data are, is put in, and what cannot be fetched at a probe is refused."""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import object_files
from sonde.model.location import (
    MASK,
    Address,
    Binary,
    Chosen,
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
    Unary,
    Value,
    VariablePlace,
    binary,
)
from sonde.model.probe import Uprobe
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.thread_data import thread_data
from sonde.symbols.functions import PROGRAM, CodeObject
from sonde.typed import NamedTuple

_GENERAL_REGISTERS, _PROGRAM_COUNTER = 17, 16
_EXECUTABLE = 2
_DEEPEST = 100


class Surroundings(NamedTuple):
    """What is known of the place of a probe: its file, what is added to link-time addresses there (None if that is
    known only to the process), its own link-time address if the program counter has it when the probe fires, and
    whether the file is a program, not a library. Of kernel code `by_symbol` makes of a link-time address what it is."""

    file: ElfFile
    bias: int | None
    address: int | None
    is_program: bool
    by_symbol: Callable[[int], Value] | None = None

    def moved(self, address: int) -> Value:
        """Where a link-time address is in the process, or in the kernel. Raises UnsupportedError."""
        if self.by_symbol is not None:
            return self.by_symbol(address)
        if self.bias is not None:
            return Constant(address + self.bias & MASK)
        if self.address is None:
            raise UnsupportedError("where its object is loaded is not known at a return: use it at the entry")
        return binary("plus", Register(_PROGRAM_COUNTER), Constant(address - self.address & MASK))


def surroundings(firing: Uprobe, home: CodeObject, address: int) -> Surroundings:
    """Those of a probe at an address, as linked, of an object."""
    file, bias = home.loaded.file, home.loaded.bias
    # An object that is not mapped yet, or is probed in whatever process, says 0.
    known = bias if bias or file.kind == _EXECUTABLE else None
    return Surroundings(
        file, known, None if firing.kind == "return" else address, home.name == PROGRAM or is_program(file)
    )


def is_program(file: ElfFile) -> bool:
    """Whether a file is one, as far as it tells: libraries may be executed too, but they do not say so."""
    return file.kind == _EXECUTABLE or file.is_position_independent_program


def placed(pieces: tuple[Piece, ...], around: Surroundings, size: int) -> tuple[Piece, ...] | None:
    """The pieces of a variable of `size` bytes as a program can fetch them, Nowhere those that it cannot; None if it is
    optimised out there. Raises UnsupportedError for what is somewhere but cannot be fetched."""
    if all(isinstance(each.place, Nowhere) for each in pieces):
        return None
    if len(pieces) == 1 and not pieces[0].bits:
        return (pieces[0]._replace(place=_place(pieces[0].place, around)),)
    found = [each._replace(place=_part(each.place, around)) for each in pieces]
    rest = 8 * size - sum(each.bits for each in pieces)
    if rest > 0:
        found.append(Piece(Nowhere(), rest))
    return None if all(isinstance(each.place, Nowhere) for each in found) else tuple(found)


def _part(place: VariablePlace, around: Surroundings) -> VariablePlace:
    """The place of a part, of which nothing is known to a program if it cannot be fetched."""
    try:
        return place if isinstance(place, Nowhere) else _place(place, around)
    except UnsupportedError:
        return Nowhere()


def _place(place: VariablePlace, around: Surroundings) -> VariablePlace:
    match place:
        case InRegister(number):
            _require_general(number)
            return place
        case InMemory(address):
            return InMemory(_value(address, around, 0))
        case IsValue(value):
            return IsValue(_value(value, around, 0))
        case PointsInto():
            raise UnsupportedError("it is a pointer that is not kept there, only what it points to")
    assert isinstance(place, IsBytes)
    return place


def _require_general(number: int) -> None:
    if number >= _GENERAL_REGISTERS:
        raise UnsupportedError("it is in a vector register, which a probe cannot read")


def _value(value: Value, around: Surroundings, depth: int) -> Value:
    if depth > _DEEPEST:
        raise UnsupportedError("what says where it is is too long")
    inner = depth + 1
    match value:
        case Address(number):
            return around.moved(number)
        case Register(number):
            _require_general(number)
            return value
        case EntryRegister() | EntryParameter():
            raise UnsupportedError("only its value at the function's entry is known there: save it at the entry")
        case Chosen(key, cases):
            found = tuple((_value(case, around, inner), _value(each, around, inner)) for case, each in cases)
            return Chosen(_value(key, around, inner), found)
        case ThreadLocal(offset):
            return _thread_local(_value(offset, around, inner), around)
        case Load(address, size):
            return Load(_value(address, around, inner), size)
        case Extend(number, size, is_signed):
            return Extend(_value(number, around, inner), size, is_signed)
        case Unary(operation, number):
            return Unary(operation, _value(number, around, inner))
        case Binary(operation, left, right):
            return Binary(operation, _value(left, around, inner), _value(right, around, inner))
    return value


def _thread_local(offset: Value, around: Surroundings) -> Value:
    """Thread-local data of a program are at a distance from the thread's descriptor; those of a library are where the
    dynamic linker has told the library's own code that they are."""
    file = around.file
    if around.is_program:
        return binary("plus", ThreadPointer(), binary("minus", offset, Constant(-file.thread_block)))
    found = thread_data(file)
    if found is None:
        raise UnsupportedError("it is thread-local data of a library, and nothing in its file tells where they are")
    word = Load(around.moved(found.slot), 8)
    if found.is_offset:
        return binary("plus", binary("plus", ThreadPointer(), word), binary("minus", offset, Constant(found.data)))
    vector = Load(binary("plus", ThreadPointer(), Constant(object_files.DYNAMIC_THREAD_VECTOR)), 8)
    entry = Binary("mul", word, Constant(object_files.THREAD_VECTOR_ENTRY))
    return binary("plus", Load(binary("plus", vector, entry), 8), offset)
