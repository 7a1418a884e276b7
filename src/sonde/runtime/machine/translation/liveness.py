"""Which registers an instruction reads and writes, and which are still needed where a block ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.translation.graph import Graph

Registers = tuple[int, ...]

CALL_WRITES: Registers = (0, 1, 2, 3, 4, 5)
CallReads = Callable[[int], Registers]
"""The registers that the call at a slot reads."""


def reads(x: Instruction, slot: int, call_reads: CallReads) -> Registers:
    """The registers read, one as often as it is; never the frame pointer, which always has the same value."""
    return tuple(register for register in _reads(x, slot, call_reads) if register != i.R10)


def _reads(x: Instruction, slot: int, call_reads: CallReads) -> Registers:
    kind, operation = x.opcode & 7, x.opcode & 0xF0
    if kind in (i.ALU, i.ALU64):
        if operation in (i.NEG, i.END):
            return (x.dst,)
        source = (x.src,) if x.opcode & i.X else ()
        return source if operation == i.MOV else (x.dst, *source)
    if kind == i.LD:
        if x.opcode == i.LD_IMM64:
            return ()
        return (6, x.src) if x.opcode & 0xE0 == i.IND else (6,)
    if kind == i.LDX:
        return (x.src,)
    if kind == i.ST:
        return (x.dst,)
    if kind == i.STX:
        return _atomic_reads(x) if x.opcode & 0xE0 == i.ATOMIC else (x.dst, x.src)
    if operation == i.EXIT:
        return (0,)
    if operation == i.CALL:
        return call_reads(slot)
    if operation in (i.JA, i.JCOND):
        return ()
    return (x.dst, x.src) if x.opcode & i.X else (x.dst,)


def _atomic_reads(x: Instruction) -> Registers:
    if x.imm == i.LOAD_ACQUIRE:
        return (x.src,)
    return (x.dst, x.src, 0) if x.imm == i.CMPXCHG else (x.dst, x.src)


def writes(x: Instruction) -> Registers:
    """The registers written. A call leaves zero in those it does not keep."""
    kind = x.opcode & 7
    if kind in (i.ALU, i.ALU64, i.LDX) or x.opcode == i.LD_IMM64:
        return (x.dst,)
    if kind == i.LD or x.opcode & 0xF7 == i.JMP | i.CALL:
        return CALL_WRITES
    if kind == i.STX and x.opcode & 0xE0 == i.ATOMIC:
        if x.imm == i.LOAD_ACQUIRE:
            return (x.dst,)
        if x.imm == i.CMPXCHG:
            return (0,)
        if x.imm & i.FETCH and x.imm != i.STORE_RELEASE:
            return (x.src,)
    return ()


class Liveness:
    """`live_in` and `live_out` of each block of the graph."""

    def __init__(self, code: Sequence[Instruction], graph: Graph, call_reads: CallReads) -> None:
        needed: list[frozenset[int]] = []
        made: list[frozenset[int]] = []
        for block in graph.blocks:
            read: set[int] = set()
            written: set[int] = set()
            for slot in block.slots:
                read.update(register for register in reads(code[slot], slot, call_reads) if register not in written)
                written.update(writes(code[slot]))
            needed.append(frozenset(read))
            made.append(frozenset(written))
        self.live_in = needed[:]
        self.live_out: list[frozenset[int]] = [frozenset()] * len(needed)
        changed = True
        while changed:
            changed = False
            for place in reversed(range(len(needed))):
                after = frozenset().union(*[self.live_in[successor] for successor in graph.blocks[place].successors])
                before = needed[place] | (after - made[place])
                if (after, before) != (self.live_out[place], self.live_in[place]):
                    self.live_out[place], self.live_in[place] = after, before
                    changed = True
