"""Loads and stores as Python.

An address is in the region that its upper half numbers, at the offset that its lower half is; both are never negative,
so that neither Python's buffers nor `struct` count from the end. What is beyond a buffer they refuse themselves. The
variable `a` keeps the last address for the message.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.frames import FRAME_SIZE
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, Buffer
from sonde.runtime.machine.translation.runs import begin
from sonde.runtime.machine.translation.stack_slots import slot_name
from sonde.runtime.machine.translation.statements import Statements
from sonde.runtime.machine.translation.values import (
    M64,
    RangedExpression,
    calculate,
    constant,
    make,
    masked,
    number,
    operand,
    signed,
    text,
    variable,
)
from sonde.typed import NamedTuple


class BufferPlace(NamedTuple):
    """The expressions for a buffer and an offset in it, which never is negative; the second evaluated after the first.
    `parts` is what they are made of."""

    buffer: str
    offset: str
    parts: tuple[RangedExpression, ...] = ()


_NEAR = 1 << OFFSET_BITS
"""No region begins so near to 0 or to 2**64 that it matters whether a sum that far beyond is reduced."""


def load(block: Statements, slot: int, x: Instruction) -> None:
    """LDX."""
    size, is_signed = i.BYTES_OF_SIZE[x.opcode & 0x18], x.opcode & 0xE0 == i.MEMSX
    if x.src == i.R10 and not block.stack.has_frame:
        value = variable(slot_name(x.offset), 0, (1 << 8 * size) - 1)
        block.define(slot, x.dst, signed(value, 8 * size) if is_signed else value)
        return
    address = _address(block.read(x.src), x.offset)
    value = _loaded(block, _place_at(block, address, size), size, is_signed)
    block.define(slot, x.dst, value if is_signed else value._replace(source=address))


def store(block: Statements, x: Instruction, value: RangedExpression, address: RangedExpression | None = None) -> None:
    """ST and STX."""
    size = i.BYTES_OF_SIZE[x.opcode & 0x18]
    value = masked(value, 8 * size)
    if x.dst == i.R10 and not block.stack.has_frame:
        block.assign(slot_name(x.offset), value)
        return
    if address is None:
        address = block.read(x.dst)
    block.settle_loads()
    target = _address(address, x.offset)
    if block.run is None or not block.run.goes_on(block.lines, target, value, size):
        block.emit(_stored(block, _place_at(block, target, size), size, value))
        block.run = begin(block.unit, block.lines, target, value, size)


def atomic(block: Statements, slot: int, x: Instruction) -> None:
    """Atomic operations: nothing runs beside the program."""
    size = i.BYTES_OF_SIZE[x.opcode & 0x18]
    if x.imm == i.LOAD_ACQUIRE:
        address = block.read(x.src)
        block.settle_loads()
        block.define(slot, x.dst, _loaded(block, _place(block, address, x.offset, size), size, False))
        return
    address, operand_ = block.read(x.dst), block.read(x.src)
    if x.imm == i.STORE_RELEASE:
        block.settle_loads()
        block.emit(_stored(block, _place(block, address, x.offset, size), size, masked(operand_, 8 * size)))
        return
    if operand_.loads:
        operand_ = block.simple(operand_)
    compared = block.simple(masked(block.read(i.R0), 8 * size)) if x.imm == i.CMPXCHG else None
    block.settle_loads()
    place = _fixed(block, _place(block, address, x.offset, size))
    old = _loaded(block, place, size, False)
    register = _fetches_into(x)
    if register is not None:
        name = block.unit.temporary()
        block.emit(f"{name} = {text(old)}")
        old = variable(name, 0, old.hi)
    if compared is not None:
        made = masked(operand_, 8 * size)
        result = make(f"{operand(made)} if {text(old)} == {text(compared)} else {text(old)}", 0, old.hi, made, old)
    else:
        result = operand_ if x.imm == i.XCHG else calculate(x.imm & ~i.FETCH, old, operand_, 8 * size)
    block.emit(_stored(block, place, size, masked(result, 8 * size)))
    if register is not None:
        block.define(slot, register, old)


def _fetches_into(x: Instruction) -> int | None:
    if x.imm == i.CMPXCHG:
        return i.R0
    return x.src if x.imm & i.FETCH else None


def packet(block: Statements, slot: int, x: Instruction) -> None:
    """LD_ABS and LD_IND."""
    offset = constant(x.imm)
    if x.opcode & 0xE0 == i.IND:
        offset = calculate(i.ADD, offset, block.read(x.src), 64)
    context = masked(block.read(i.R6))
    block.settle_loads()
    name = block.unit.temporary()
    size = i.BYTES_OF_SIZE[x.opcode & 0x18]
    block.emit(f"{name} = read_packet({text(context)}, {text(signed(offset, 32))}, {size})")
    block.emit(f"if {name} is None: return 0")
    block.define(slot, i.R0, variable(name, 0, (1 << 8 * size) - 1))
    for register in range(1, 6):
        block.define(slot, register, constant(0))


def _address(base: RangedExpression, offset: int) -> RangedExpression:
    address = calculate(i.ADD, base, constant(offset & M64), 64)
    return masked(address) if address.lo < -_NEAR or address.hi > M64 + _NEAR else address


def _place(block: Statements, base: RangedExpression, offset: int, size: int) -> BufferPlace:
    return _place_at(block, _address(base, offset), size)


def _place_at(block: Statements, address: RangedExpression, size: int) -> BufferPlace:
    if address.frame and 0 <= FRAME_SIZE + address.addend <= FRAME_SIZE - size:
        return BufferPlace("stack", number(FRAME_SIZE + address.addend))
    found = None if address.lo < 0 else block.unit.region(address.lo, address.hi, size)
    if found is not None:
        name, begins = found
        inside = address._replace(addend=address.addend - begins, lo=address.lo - begins, hi=address.hi - begins)
        if inside.constant is not None and _is_within(block.unit.fixed[begins >> OFFSET_BITS], inside.addend, size):
            return BufferPlace(name, text(inside))
        return BufferPlace(name, f"(a := {text(inside)})", (inside,))
    buffer = f"regions[(a := {text(address)}) >> {OFFSET_BITS}]"
    return BufferPlace(buffer, f"a & {OFFSET_MASK:#x}", (address,))


def _is_within(buffer: Buffer, offset: int, size: int) -> bool:
    """Whether the access can only succeed, be it a load or a store."""
    is_read_only = isinstance(buffer, memoryview) and buffer.readonly
    return offset + size <= len(buffer) and not is_read_only


def _fixed(block: Statements, place: BufferPlace) -> BufferPlace:
    """The same place to be accessed twice."""
    if not place.parts:
        return place
    buffer, offset = place.buffer, block.unit.temporary()
    if not buffer.isidentifier():
        buffer = block.unit.temporary()
        block.emit(f"{buffer} = {place.buffer}")
    block.emit(f"{offset} = {place.offset}")
    return BufferPlace(buffer, offset)


def _loaded(block: Statements, place: BufferPlace, size: int, is_signed: bool) -> RangedExpression:
    bits = 8 * size
    lo, hi = (-1 << bits - 1, (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    if size == 1 and not is_signed:
        expression = f"{place.buffer}[{place.offset}]"
    else:
        expression = f"{block.unit.load(size, is_signed)}({place.buffer}, {place.offset})[0]"
    return make(expression, lo, hi, *place.parts, closed=True)._replace(loads=True)


def _stored(block: Statements, place: BufferPlace, size: int, value: RangedExpression) -> str:
    if size == 1 and place.buffer == "stack":
        return f"{place.buffer}[{place.offset}] = {text(value)}"
    return f"{block.unit.store(size)}({place.buffer}, {place.offset}, {text(value)})"
