"""What programs say with bpf_printk(), caught by a program of our own.

The kernel's helper ends in the tracepoint bpf_trace_printk on the same CPU. A raw tracepoint there sees every text that
any BPF program of the system prints, and, in the kernel's stack, who prints: the reader of trace_pipe sees neither, and
takes the lines away from other readers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.helpers import NUMBERS
from sonde.model.named_maps import PRINTED, PRINTED_LOST, PRINTED_RECORD, PRINTED_ROOM
from sonde.model.probe import Probe, RawTracepoint
from sonde.model.spec import MapSpec, ProbeSpec, ProgramSpec

TRACEPOINT = "bpf_trace_printk"
PROGRAM = "sonde.printk"
"""No C function is called so."""

_RING_SIZE = 1 << 20
_TEXT, _FRAMES = PRINTED_ROOM, 24
_SIZE = 16 + _TEXT + 8 * _FRAMES
_PRINTERS = frozenset((NUMBERS["trace_printk"], NUMBERS["trace_vprintk"]))

_SOURCE = f"""
    r9 = r1
    r6 = *(u64 *)(r1 +0)
    r1 = map[{PRINTED}]
    r2 = {_SIZE}
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 == 0 goto full
    r7 = r0
    r1 = r7
    r1 += 16
    r2 = {_TEXT}
    r3 = r6
    call bpf_probe_read_kernel_str
    *(u64 *)(r7 +0) = r0
    r1 = r9
    r2 = r7
    r2 += {16 + _TEXT}
    r3 = {8 * _FRAMES}
    r4 = 0
    call bpf_get_stack
    *(u64 *)(r7 +8) = r0
    r1 = r7
    r2 = 0
    call bpf_ringbuf_submit
    r0 = 0
    exit
full:
    r1 = map[{PRINTED_LOST}][0]+0
    r2 = 1
    lock *(u64 *)(r1 +0) += r2
    r0 = 0
    exit
"""


def prints(program: ProgramSpec) -> bool:
    """Whether it calls bpf_trace_printk or bpf_trace_vprintk."""
    return any(
        each.opcode == i.JMP | i.CALL and each.src == i.CALL_HELPER and each.imm in _PRINTERS
        for each in i.decode(program.code)
    )


RINGS = (MapSpec(PRINTED, maps.RINGBUF, 0, 0, _RING_SIZE), MapSpec(PRINTED_LOST, maps.ARRAY, 4, 8, 1))
"""The maps for what is printed. An engine that runs programs itself writes to them."""


def catcher(identifier: int) -> ProgramSpec:
    """The program that catches in the kernel what is printed; `identifier` is its probe's."""
    assembly = assemble(_SOURCE)
    probe = Probe(identifier, "object", "", "", TRACEPOINT, RawTracepoint(TRACEPOINT, 1))
    return ProgramSpec(
        PROGRAM, programs.RAW_TRACEPOINT, 0, i.encode(assembly.code), assembly.map_references, (ProbeSpec(probe, 0),)
    )


def printed(record: bytes) -> tuple[bytes, tuple[int, ...]]:
    """The text of a record, and the kernel addresses of its stack."""
    length, stack = PRINTED_RECORD.unpack_from(record)
    count = max(min(stack // 8, _FRAMES), 0)
    frames = struct.unpack_from(f"={count}Q", record, 16 + _TEXT) if count else ()
    return bytes(record[16 : 16 + max(min(length - 1, _TEXT), 0)]), frames


def is_own(frames: Sequence[int], ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether one of our programs, (start, end) each, printed: any, where the kernel does not tell these or a stack."""
    if not frames or not ranges:
        return True
    return any(start <= each <= end for each in frames for start, end in ranges)
