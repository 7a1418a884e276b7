"""Adding a piece to the record of a firing (`codegen/basis/firing_records.py`)."""

from __future__ import annotations

from sonde.arch import pages, registers
from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.model import firing_record as layout


def piece(name: str, kind: int) -> BpfFunction:
    """(record, address, size, source): what was read there, `size` bytes at `source`; less than 0 bytes: it failed."""
    b = Builder(name, 4)
    record, address, size, source = b.function.parameters
    at = _begin(b, record, address, kind, size)
    with b.when("sle", size, Imm(0)):
        b.ret(Imm(0))
    length = b.copy(size)
    with b.when("gt", length, Imm(layout.LARGEST)):
        b.move(length, Imm(layout.LARGEST))
        _flag(b, record)
        b.store(at, 12, 4, length)
    target = b.in_register(b.alu("add", at, Imm(layout.PIECE.size)))
    b.call(NUMBERS["probe_read_kernel"], target, length, source)
    _end(b, record, length)
    return b.function


def value(name: str, kind: int) -> BpfFunction:
    """(record, address, size, number): a number of so many bytes that was read there."""
    b = Builder(name, 4)
    record, address, size, number = b.function.parameters
    at = _begin(b, record, address, kind, size)
    b.store(at, layout.PIECE.size, 8, number)
    _end(b, record, Imm(8))
    return b.function


def stack(name: str, size: int) -> BpfFunction:
    """(record, registers): the registers of the process, and so many bytes of its stack, as far as they are resident.
    They are the last pieces, and have room of their own."""
    b = Builder(name, 2)
    record, saved = b.function.parameters
    end = b.label()
    used = b.in_register(b.load(record, layout.USED_AT, 8))
    b.branch("gt", used, Imm(layout.AREA), end)
    at = b.in_register(b.alu("add", record, used))
    b.store(at, 0, 8, Imm(size))
    b.store(at, 8, 4, Imm(layout.REGISTERS))
    b.store(at, 12, 4, Imm(registers.SIZE))
    target = b.in_register(b.alu("add", at, Imm(layout.PIECE.size)))
    b.branch("slt", b.call(NUMBERS["probe_read_kernel"], target, Imm(registers.SIZE), saved), Imm(0), end)
    address = b.copy(b.load(target, registers.STACK_POINTER, 8))
    left = b.copy(Imm(size))
    b.store(record, layout.USED_AT, 8, b.alu("add", used, Imm(layout.PIECE.size + registers.SIZE)))
    # A page that is not resident is the end of what can be read, so each is read by itself.
    for _ in range(size // pages.PAGE + 2):
        _page(b, record, address, left, layout.AREA + layout.stack_room(size), end)
    b.place(end)
    b.ret(Imm(0))
    return b.function


def _page(b: Builder, record: Reg, address: Reg, left: Reg, room: int, end: int) -> None:
    length = b.copy(b.alu("sub", Imm(pages.PAGE), b.alu("and", address, Imm(pages.PAGE - 1))))
    with b.when("gt", length, left):
        b.move(length, left)
    b.branch("eq", length, Imm(0), end)
    b.branch("gt", length, Imm(pages.PAGE), end)
    used = b.in_register(b.load(record, layout.USED_AT, 8))
    b.branch("gt", used, Imm(room - pages.PAGE - layout.PIECE.size), end)
    at = b.in_register(b.alu("add", record, used))
    target = b.in_register(b.alu("add", at, Imm(layout.PIECE.size)))
    b.branch("slt", b.call(NUMBERS["probe_read_user"], target, length, address), Imm(0), end)
    b.store(at, 0, 8, address)
    b.store(at, 8, 4, Imm(layout.STACK))
    b.store(at, 12, 4, length)
    whole = b.alu("and", b.alu("add", length, Imm(7)), Imm(-8))
    b.store(record, layout.USED_AT, 8, b.alu("add", used, b.alu("add", whole, Imm(layout.PIECE.size))))
    b.move(address, b.alu("add", address, length))
    b.move(left, b.alu("sub", left, length))


def _begin(b: Builder, record: Reg, address: Reg, kind: int, size: Reg) -> Reg:
    """The piece's head, behind the pieces that there are; where it stands."""
    used = b.in_register(b.load(record, layout.USED_AT, 8))
    with b.when("gt", used, Imm(layout.PIECES)):
        _flag(b, record)
        b.ret(Imm(0))
    at = b.in_register(b.alu("add", record, used))
    b.store(at, 0, 8, address)
    b.store(at, 8, 4, Imm(kind))
    b.store(at, 12, 4, size)
    b.store(record, layout.USED_AT, 8, b.alu("add", used, Imm(layout.PIECE.size)))
    return at


def _end(b: Builder, record: Reg, length: Operand) -> None:
    whole = b.alu("and", b.alu("add", length, Imm(7)), Imm(-8))
    used = b.load(record, layout.USED_AT, 8)
    b.store(record, layout.USED_AT, 8, b.alu("add", used, whole))
    b.ret(Imm(0))


def _flag(b: Builder, record: Reg) -> None:
    flags = b.load(record, layout.FLAGS_AT, 4)
    b.store(record, layout.FLAGS_AT, 4, b.alu("or", flags, Imm(layout.CUT)))
