"""Which parts of a function's frame can be Python variables.

If a program only ever loads and stores at constant offsets from the frame pointer, nobody else can see the frame: each
place that is always accessed as a whole is a variable then, and there is no frame at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.frames import FRAME_SIZE
from sonde.typed import NamedTuple


class StackSlots(NamedTuple):
    """`sizes` are the bytes at each offset from the frame pointer that is a variable; `has_frame` is whether the frame
    exists instead."""

    sizes: dict[int, int]
    has_frame: bool

    @property
    def names(self) -> list[str]:
        return [slot_name(offset) for offset in self.sizes]


def slot_name(offset: int) -> str:
    return f"s{-offset}"


def find(code: Sequence[Instruction], slots: Sequence[int]) -> StackSlots:
    """The places of the function that consists of these slots."""
    sizes: dict[int, int] = {}
    for slot in slots:
        x = code[slot]
        if i.R10 not in (x.dst, x.src):
            continue
        if not _is_plain(x) or not -FRAME_SIZE <= x.offset <= -i.BYTES_OF_SIZE[x.opcode & 0x18]:
            return StackSlots({}, True)
        size = i.BYTES_OF_SIZE[x.opcode & 0x18]
        if sizes.setdefault(x.offset, size) != size:
            return StackSlots({}, True)
    ordered = sorted(sizes)
    if any(one + sizes[one] > other for one, other in pairwise(ordered)):
        return StackSlots({}, True)
    return StackSlots(sizes, False)


def _is_plain(x: Instruction) -> bool:
    """Whether it loads or stores at the frame pointer and does nothing else with it."""
    kind, mode = x.opcode & 7, x.opcode & 0xE0
    if kind == i.LDX:
        return mode in (i.MEM, i.MEMSX)
    return kind == i.ST or (kind == i.STX and mode == i.MEM and x.src != i.R10)
