"""Operands in the memory of the stack, so many bytes above the stack pointer or the frame pointer, in x86-64 code.

They are looked for by the bytes that say so (ModRM, SIB and displacement; Intel SDM volume 2, section 2.1.5), which is
quick and finds too much: other bytes may look alike. `is_operand` decides.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from sonde.arch.x86_64.instruction_lengths import modrm_place, opcode_place
from sonde.arch.x86_64.unwinding import FRAME_POINTER, STACK_POINTER
from sonde.typed import NamedTuple

_NEAR = re.compile(rb"[\x44\x4c\x54\x5c\x64\x6c\x74\x7c]\x24(?=(.))", re.DOTALL)
"""Of rsp with a displacement of one byte: ModRM and SIB before it."""
_FAR = re.compile(rb"[\x84\x8c\x94\x9c\xa4\xac\xb4\xbc]\x24(?=(.{4}))", re.DOTALL)
"""With one of four."""
_ON_TOP = re.compile(rb"[\x04\x0c\x14\x1c\x24\x2c\x34\x3c]\x24")
"""With none."""
_BY_FRAME_POINTER = re.compile(rb"[\x45\x4d\x55\x5d\x65\x6d\x75\x7d]\x08")
"""Of rbp with a displacement of 8, where functions that set it up have their return address."""

_ROOM = re.compile(rb"\x48\x83\xec(.)|\x48\x81\xec(.{4})|\x48\x83\xc4\x80", re.DOTALL)
"""sub $room, %rsp; or add $-128, %rsp, which is shorter than sub $128."""

_LESS = 128
_PROBED = 4096
"""Room that is taken in such pieces is larger, where the stack is probed (-fstack-clash-protection)."""

_PUSHES = 7
"""Words between the room of a function and its return address: six saved registers, and one for alignment."""

_WORD = 8
_VEX3, _VEX2, _EVEX, _REX = 0xC4, 0xC5, 0x62, 0x40
_NEAR_DISTANCE, _FAR_DISTANCE = struct.Struct("<b"), struct.Struct("<i")


class StackOperand(NamedTuple):
    """A candidate: the offset of its ModRM byte in the code, the DWARF number of the base register, and the
    displacement in bytes."""

    at: int
    register: int
    distance: int


def operands(code: bytes) -> Iterator[StackOperand]:
    """The candidates for a function's return address, by the room that the function has taken before."""
    rooms = [(match.start(), _distance(match[1] or match[2])) for match in _ROOM.finditer(code)]
    is_any = any(room == _PROBED for _, room in rooms)
    for pattern in (_NEAR, _FAR):
        for match in pattern.finditer(code):
            distance = _distance(match[1])
            if distance > 0 and not distance % _WORD and (is_any or _is_on_top(distance, match.start(), rooms)):
                yield StackOperand(match.start(), STACK_POINTER, distance)
    for match in _ON_TOP.finditer(code, 0, rooms[0][0] if rooms else len(code)):
        yield StackOperand(match.start(), STACK_POINTER, 0)
    for match in _BY_FRAME_POINTER.finditer(code):
        yield StackOperand(match.start(), FRAME_POINTER, _WORD)


def is_operand(instruction: bytes, at: int) -> bool:
    """True if the ModRM byte of an instruction is at this offset, and no prefix extends the base register (bit B of
    REX, VEX and EVEX)."""
    if modrm_place(instruction) != at:
        return False
    opcode = opcode_place(instruction)
    first = instruction[opcode]
    if first == _VEX2:
        return True
    if first in (_VEX3, _EVEX):
        return bool(instruction[opcode + 1] & 0x20)
    before = instruction[opcode - 1] if opcode else 0
    return before & 0xF0 != _REX or not before & 1


def _distance(data: bytes | None) -> int:
    """Of an instruction's last bytes, or of none."""
    if data is None:
        return _LESS
    found: int = (_NEAR_DISTANCE if len(data) == 1 else _FAR_DISTANCE).unpack(data)[0]
    return found


def _is_on_top(distance: int, at: int, rooms: list[tuple[int, int]]) -> bool:
    """True if the operand is above one of the rooms taken before it, within the words that a function pushes."""
    taken = [room for start, room in rooms if start < at] or [0]
    return any(0 <= distance - room <= _PUSHES * _WORD for room in taken)
