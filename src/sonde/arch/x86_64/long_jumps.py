"""Where longjmp(3) leads on x86-64: the jmp_buf of glibc (sysdeps/x86_64/jmpbuf-offsets.h) and of musl
(src/setjmp/x86_64/setjmp.s), whose words have the same places."""

from __future__ import annotations

import struct

NAMES = ("longjmp", "_longjmp", "siglongjmp", "__longjmp_chk")
"""The functions, which are given a jmp_buf first."""

_WORDS = struct.Struct("=8Q")
BUFFER_SIZE = _WORDS.size
"""Bytes of a jmp_buf that tell."""

_STACK, _COUNTER = 6, 7
GUARD = 0x30
"""Where the word is, behind the thread pointer, by which glibc makes the two unreadable."""

_TURN = 0x11
_U64 = 0xFFFF_FFFF_FFFF_FFFF


def targets(buffer: bytes, guard: int) -> tuple[tuple[int, int], ...]:
    """The stack pointer and the program counter, as both libraries would have them."""
    words = _WORDS.unpack(buffer)
    return tuple((read(words[_STACK], guard), read(words[_COUNTER], guard)) for read in (_mangled, _plain))


def _plain(word: int, guard: int) -> int:
    return word


def _mangled(word: int, guard: int) -> int:
    """As PTR_DEMANGLE does (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h)."""
    return (word >> _TURN | word << 64 - _TURN & _U64) ^ guard
