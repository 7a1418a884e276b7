"""What the verifier refuses of one instruction whatever the registers hold.

Some of that, as in Linux, matters only where the instruction can be reached at all.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf import wellformed
from sonde.bpf.instructions import Instruction
from sonde.bpf.maps import ARRAY
from sonde.bpf.wellformed import CALL_BY_REGISTER, FRAME, UNKNOWN, is_packet_load
from sonde.model.spec import MapSpec


def wrong(x: Instruction, second: Instruction | None = None) -> str | None:
    """What is wrong with an instruction, None if nothing is; `second` is the slot behind it."""
    if x.opcode & 7 == i.LD and is_packet_load(x):
        return "the packet loads of classic BPF are not supported: read the packet through pointers"
    if x.opcode == CALL_BY_REGISTER:
        return UNKNOWN
    return wellformed.wrong(x, second) or _by_constant(x)


def _by_constant(x: Instruction) -> str | None:
    """What the instruction set defines, and nobody can mean."""
    group, operation = x.opcode & 7, x.opcode & 0xF0
    if group not in (i.ALU, i.ALU64) or x.opcode & i.X:
        return None
    bits = 64 if group == i.ALU64 else 32
    if operation in (i.LSH, i.RSH, i.ARSH) and not 0 <= x.imm < bits:
        return f"the number is shifted by {x.imm} bits, but has only {bits}"
    return "division by the constant 0" if operation in (i.DIV, i.MOD) and x.imm == 0 else None


def always_wrong(x: Instruction, second: Instruction | None, of: MapSpec | None) -> str | None:
    """What is wrong with an instruction even if no path leads to it; `second` is the slot behind it, `of` the map that
    it refers to."""
    text = wrong(x, second)
    if x.opcode & 7 in (i.LD, i.LDX):
        if text is None and second is not None and x.src in _REFERENCES and x.opcode == i.LD_IMM64:
            return _reference(x, second, of)
        return text if text != FRAME else None
    return text if text == UNKNOWN else None


_TO_VALUES = (i.PSEUDO_MAP_VALUE, i.PSEUDO_MAP_INDEX_VALUE)
_REFERENCES = (i.PSEUDO_MAP_FD, i.PSEUDO_MAP_INDEX, *_TO_VALUES)


def _reference(x: Instruction, second: Instruction, of: MapSpec | None) -> str | None:
    """What is wrong with a reference to a map or its value (array_map_direct_value_addr() of kernel/bpf/arraymap.c)."""
    if of is None:
        return "it refers to a map that the program does not have"
    if x.src not in _TO_VALUES:
        return None
    if of.kind != ARRAY or of.max_entries != 1:
        return f"it refers to a value of map {of.name}, but only an array of one element has one at a fixed address"
    if not 0 <= second.imm < of.value_size:
        return f"it refers to byte {second.imm} of a value of map {of.name}, which has {of.value_size} bytes"
    return None
