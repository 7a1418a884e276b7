"""The record of a firing as recording programs write it into the ring (`codegen/basis/firing_records.py`).

A head, the context, struct pt_regs, then pieces to the end. Lengths are in bytes, all little-endian; what a piece has
is padded to a multiple of 8. `docs/recordings.md` has the same as tables.
"""

from __future__ import annotations

import struct

LAYOUT = 0xFFFF_FFFE
"""In the place of a layout's number: no record of a clause has it."""

FLAGS_AT = 12
"""u32, where other records have their speculation."""

TIME_AT, TASK_AT, PIDS_AT, IDS_AT, NAME_AT, PARENT_AT = 16, 24, 32, 40, 48, 64
CONTEXT_SIZE_AT, REGISTERS_SIZE_AT, USED_AT = 72, 76, 80
HEAD = 88

HEADER = struct.Struct("<IIIIQQQQ16sqIIQ")
"""Layout, probe, CPU, flags, time, task_struct, process and thread, gid and uid, name, the parent's process or -1,
sizes of context and registers, and how much of the record is used."""

CUT, BROKEN_OFF, CONTINUED, STACK_ASKED = 1, 2, 4, 8
"""Flags: pieces found no room; a page was missing, and the firing goes on at the return of the system call; this is how
it went on; the process's stack is to be kept."""

FLAGS, PROGRAM_SHIFT = 0xFF, 8
"""The flags, and where in that word the kernel's programs tell their name by its number: files have none."""

MOST_ARGUMENTS = 12
RECORD = 512
"""Bytes of a trace event's record that are taken."""

LARGEST = 4096
"""Bytes of one piece at most."""

TEXT, TEXT_ARGUMENTS, DEPTH = 256, 4, 64
"""Of what `--record-reads` adds: bytes of a string with its NUL, arguments that are looked behind, and frames."""

PIECES = 8192
"""Where the last piece begins at the latest."""

AREA = PIECES + LARGEST + 32
"""Memory for a record."""

PIECE = struct.Struct("<QIi")
"""Address, kind, and the size of what follows, or less than 0: it could not be read."""

LARGEST_STACK = 8192
"""Bytes of a process's stack that are kept at most (`--record-stacks`)."""


MOST_RETURNS = 8
"""Functions whose return is probed of which a kept stack has the true return address, the innermost ones."""


def stack_room(size: int) -> int:
    """Bytes of a record that keeping so many bytes of a stack may take: registers, and a piece for each page."""
    return size + LARGEST + (size // LARGEST + 3) * (PIECE.size + 8) + 168 if size else 0


USER, USER_STRING, KERNEL, KERNEL_STRING, KERNEL_STACK, USER_STACK, RESULT, PACKET, REGISTERS, STACK = range(10)
"""Kinds of pieces: what was read at an address of the process or the kernel; a stack's u64 addresses; u64 the result of
the helper whose number stands in the place of the address; a packet's first bytes, which are the last piece, and in the
place of the address how many there were to be had; the registers of the process, and in the place of the address how
many bytes of its stack are wanted; bytes of the stack at an address, or, before the registers, at address 0 the word
that probes of returns have put on the stack, and what stood there at an address."""

PASSING = struct.Struct("<IIIIIIII")
"""The context of a packet's firing: the packet's own length, the device's number, pkt_type, vlan_present, vlan_tci and
vlan_proto of struct __sk_buff (include/uapi/linux/bpf.h), 0 in XDP, and two zeros."""

STRINGS = (USER_STRING, KERNEL_STRING)
