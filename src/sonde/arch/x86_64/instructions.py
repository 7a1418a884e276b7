"""Instructions of x86-64 that are looked for, or put in their place."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

BREAKPOINT, BREAKPOINT_SIZE = 0xCC, 1
"""int3: one byte, behind which the program counter then is."""

RETURN = b"\xc3"

SYSTEM_CALL = b"\x0f\x05"

NOP = 0x90
"""What a site of a static probe is."""

TRAP = b"\x0f\x0b"
"""ud2, by which the kernel's BUG() and WARN() get where they are told of (arch/x86/include/asm/bug.h)."""

ENTRY_PUSH, ENTRY_PUSH_BITS = 0x55, 0xFF
"""push %rbp, and the bits of an instruction's first word that say so: where a uprobe is at it the kernel adds the
caller to the stack by itself (is_uprobe_at_func_entry, arch/x86/events/core.c)."""

ENTRY_MARK = 0xFA1E0FF3
"""endbr64, likewise, in a kernel with indirect branch tracking (CONFIG_X86_KERNEL_IBT)."""

_MARK, _PUSH = b"\xf3\x0f\x1e\xfa", b"\x55"
_COPY = (b"\x48\x89\xe5", b"\x48\x8b\xec")
_CALL = rb"[\xe8\xe9](?=(....))"
_JUMPS = rb"(?:\xe9|\x0f[\x80-\x8f])(?=(....))"
_JUMP = b"\xff\x25"
_DISPLACEMENT = struct.Struct("<i")

LONGEST_CALL = 7
"""Bytes of a call without its prefixes."""

_WITHOUT_BASE = bytes(range(0x05, 0x100, 8))
_CALLED = re.compile(
    rb"(?:\xe8....|\xff(?:[\x10-\x13\x16\x17\xd0-\xd7]|[\x14\x50-\x53\x55-\x57].|\x54..|\x15....|\x14["
    + re.escape(_WITHOUT_BASE)
    + rb"]....|[\x90-\x93\x95-\x97]....|\x94.....))\Z",
    re.DOTALL,
)
"""The end of code behind a near call, direct or by a register or memory (Intel SDM volume 2, CALL: e8 and ff /2, with
the forms of ModRM and SIB in tables 2-2 and 2-3)."""


def frame_setup(code: bytes) -> int:
    """The bytes of `push %rbp; mov %rsp, %rbp`, which a function begins with that has a frame pointer, an endbr64
    before it among them; 0 where it does not."""
    at = len(_MARK) if code.startswith(_MARK) else 0
    return at + 4 if code[at : at + 1] == _PUSH and code[at + 1 : at + 4] in _COPY else 0


def is_behind_call(before: bytes) -> bool:
    """Whether a call may stand directly before an address, by the LONGEST_CALL bytes that end there."""
    return _CALLED.search(before) is not None


def calls(code: bytes, address: int) -> Iterator[tuple[int, int]]:
    """What may be a direct call or jump (opcodes e8 and e9): its address, and where it leads. Any such bytes are taken
    for one."""
    for found in re.finditer(_CALL, code, re.DOTALL):
        at = address + found.start()
        yield at, at + 5 + _DISPLACEMENT.unpack(found[1])[0]


def jumps(code: bytes, address: int) -> Iterator[int]:
    """Where direct jumps lead, those with a condition too (opcodes e9 and 0f 80 to 0f 8f). Any such bytes are taken for
    one."""
    for found in re.finditer(_JUMPS, code, re.DOTALL):
        yield address + found.end() + _DISPLACEMENT.size + _DISPLACEMENT.unpack(found[1])[0]


def jump_through(code: bytes, address: int) -> int | None:
    """The address of the word through which an entry of a procedure linkage table jumps: jmp *displacement(%rip),
    perhaps behind endbr64 or bnd. None if there is none (System V ABI, AMD64 supplement, 5.2)."""
    at = code.find(_JUMP)
    if at < 0 or len(code) < at + 6:
        return None
    return int(address + at + 6 + _DISPLACEMENT.unpack_from(code, at + 2)[0])
