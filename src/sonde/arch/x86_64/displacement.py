"""Instructions of x86-64 made to run elsewhere than where they stand, and to go on behind where they stand.

What is made is code for a slot: the instruction itself, or what does the same from there, and jumps back. It changes
no register, no flag and no memory that the instruction does not change. Only the words that it jumps through and the
return address of a call lie in the slot as well.
"""

from __future__ import annotations

import struct

from sonde.arch.x86_64.instruction_lengths import decode, modrm_place, opcode_place
from sonde.typed import NamedTuple

SLOT = 32
"""Bytes: the most that anything takes."""

REACH = (1 << 31) - (1 << 20)
"""How far a slot may be from what an instruction means by its distance from the program counter."""

_ADDRESS_SIZE = 0x67
_JUMP = b"\xff\x25"
"""jmp *displacement(%rip)"""
_PUSH = b"\xff\x35"
"""push displacement(%rip)"""
_SHORT, _LONG = struct.Struct("<b"), struct.Struct("<i")
_WORD = struct.Struct("<Q")
_JUMP_SIZE = 14
_MASK = (1 << 64) - 1


class Resumption(NamedTuple):
    """Who is found `offset` bytes behind the slot's beginning would be at `address` without it, with the stack pointer
    so many bytes above; `begins`: the instruction has not been executed."""

    offset: int
    address: int
    stack: int = 0
    begins: bool = False


class Displaced(NamedTuple):
    """A slot's code, and where a thread that is found in it really is."""

    code: bytes
    resumptions: tuple[Resumption, ...]


def displaced(code: bytes, address: int, slot: int) -> Displaced | None:
    """The instruction at `address`, whose bytes and some behind are `code`, for a slot at that address; None where it
    cannot run elsewhere: system calls and interrupts, far jumps, transactions, what is no instruction."""
    found = decode(code, 0)
    if found is None:
        return None
    code = code[: found.length]
    at, behind = opcode_place(code), address + found.length
    opcode = code[at]
    begin = Resumption(0, address, 0, True)
    if opcode in (0xE9, 0xEB):
        return Displaced(_jump(_target(code, behind)), (begin,))
    if 0x70 <= opcode < 0x80 or 0xE0 <= opcode < 0xE4:
        return _conditional(code[: at + 1], _target(code, behind), behind, begin)
    if opcode == 0x0F and 0x80 <= code[at + 1] < 0x90:
        return _conditional(bytes((code[at + 1] - 0x10,)), _target(code, behind), behind, begin)
    if opcode == 0xE8:
        head = _PUSH + _LONG.pack(6 + 8)
        jump = _JUMP + _LONG.pack(0) + _WORD.pack(_target(code, behind))
        return Displaced(head + jump + _WORD.pack(behind), (begin, Resumption(6, address, 8, True)))
    if opcode == 0xFF and code[at + 1] >> 3 & 7 in (2, 3, 5):
        return _indirect_call(code, at, slot, behind, begin) if code[at + 1] >> 3 & 7 == 2 else None
    if opcode in (0xCC, 0xCD, 0xCF, 0xF1) or (opcode == 0x0F and code[at + 1] in (0x05, 0x07, 0x34, 0x35)):
        return None
    if opcode in (0xC6, 0xC7) and code[at + 1] == 0xF8:
        return None
    moved = _moved(code, address, slot)
    if moved is None:
        return None
    return Displaced(moved + _jump(behind), (begin, Resumption(len(moved), behind)))


def _target(code: bytes, behind: int) -> int:
    """Where a direct jump or call leads, whose distance is its last byte or four."""
    is_short = code[opcode_place(code)] not in (0xE8, 0xE9, 0x0F)
    (distance,) = (_SHORT if is_short else _LONG).unpack(code[-1 if is_short else -4 :])
    return int(behind + distance) & _MASK


def _jump(target: int) -> bytes:
    return _JUMP + _LONG.pack(0) + _WORD.pack(target & _MASK)


def _conditional(head: bytes, target: int, behind: int, begin: Resumption) -> Displaced:
    """`head` is the instruction with a distance of one byte, without that."""
    start = len(head) + 1
    code = head + _SHORT.pack(_JUMP_SIZE) + _jump(behind) + _jump(target)
    return Displaced(code, (begin, Resumption(start, behind), Resumption(start + _JUMP_SIZE, target)))


def _indirect_call(code: bytes, at: int, slot: int, behind: int, begin: Resumption) -> Displaced | None:
    """call r/m: the return address is pushed, then the same operand jumped through, which the push has moved where it
    is counted from the stack pointer."""
    modrm = code[at + 1]
    mode, base = modrm >> 6, modrm & 7
    jump = bytearray(code)
    jump[at + 1] = modrm & ~0x38 | 4 << 3
    has_extended_base = at > 0 and code[at - 1] & 0xF1 == 0x41
    if mode == 3 and base == 4 and not has_extended_base:
        return None
    if mode != 3 and base == 4 and code[at + 2] & 7 == 4 and not has_extended_base:
        if mode == 0:
            jump[at + 1] |= 0x40
            jump.append(8)
        else:
            size = _SHORT if mode == 1 else _LONG
            place = at + 3
            (distance,) = size.unpack_from(jump, place)
            if mode == 1 and distance > 127 - 8:
                return None
            size.pack_into(jump, place, distance + 8)
    elif mode == 0 and base == 5:
        place = at + 2
        (distance,) = _LONG.unpack_from(jump, place)
        distance += behind - (slot + 6 + len(jump))
        if abs(distance) > REACH:
            return None
        _LONG.pack_into(jump, place, distance)
    size_of_jump = len(jump)
    head = _PUSH + _LONG.pack(size_of_jump)
    return Displaced(head + bytes(jump) + _WORD.pack(behind), (begin, Resumption(6, begin.address, 8, True)))


def _moved(code: bytes, address: int, slot: int) -> bytes | None:
    """The instruction with the distance of its operand from the program counter as it is in the slot."""
    place = modrm_place(code)
    if place < 0 or code[place] >> 6 or code[place] & 7 != 5:
        return code
    if _ADDRESS_SIZE in code[: opcode_place(code)]:
        # It counts from the lower half of the program counter.
        return None
    moved = bytearray(code)
    (distance,) = _LONG.unpack_from(moved, place + 1)
    distance += address - slot
    if abs(distance) > REACH:
        return None
    _LONG.pack_into(moved, place + 1, distance)
    return bytes(moved)
