"""Which registers an instruction or those behind it may read, whatever the way there (compute_live_registers() of
kernel/bpf/verifier.c)."""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.verifier.relevance import FRAME_BITS, FRAME_MASK
from sonde.runtime.verifier.state import READABLE, State
from sonde.runtime.verifier.structure import ProgramStructure

_RESULT = 1
_ARGUMENTS = 0b111110
_KEPT = 0b1111000000
"""r6 to r9, which a call leaves to the caller."""

_SLOTS = FRAME_MASK & ~((1 << READABLE) - 1)


class ProgramLiveness:
    """Of one program; looked into where a loop comes round, which most programs do not have."""

    def __init__(self, code: list[Instruction], structure: ProgramStructure) -> None:
        self._code = code
        self._structure = structure
        self._registers: list[int] | None = None

    def of(self, at: int, state: State) -> int:
        """What may matter of a state before an instruction, as bits in the order of `relevance`: all slots of stacks,
        and the registers that may be read, of callers those behind the calls."""
        if self._registers is None:
            self._registers = _registers(self._code, self._structure)
        bits = self._registers[at] | _SLOTS
        for level, frame in enumerate(reversed(state.frames[1:]), 1):
            # A helper that calls back is looked at again, with its arguments; a function's call is over.
            kept = self._registers[frame.site] if frame.callback else self._behind(frame.site) & _KEPT
            bits |= (kept | _SLOTS) << level * FRAME_BITS
        return bits

    def _behind(self, site: int) -> int:
        assert self._registers is not None
        return self._registers[self._structure.following[site]]


def _registers(code: list[Instruction], structure: ProgramStructure) -> list[int]:
    """The registers that may be read from each instruction on, as bits."""
    live = [0] * (len(code) + 1)
    changed = True
    while changed:
        changed = False
        for at in range(len(code) - 1, -1, -1):
            x = code[at]
            after = 0
            if x.opcode != i.JMP | i.EXIT:
                is_jump = x.opcode & 7 in (i.JMP, i.JMP32) and x.opcode & 0xF0 != i.CALL
                if not (is_jump and x.opcode & 0xF0 == i.JA):
                    after = live[structure.following[at]]
                if is_jump:
                    after |= live[structure.targets[at]]
            reads, writes = _effect(x)
            before = after & ~writes | reads
            if before != live[at]:
                live[at] = before
                changed = True
    return live


def _effect(x: Instruction) -> tuple[int, int]:
    """The registers that an instruction may read, and those that it overwrites whatever they hold."""
    kind, operation = x.opcode & 7, x.opcode & 0xF0
    target, source = 1 << x.dst, 1 << x.src
    operand = source if x.opcode & i.X else 0
    match kind:
        case i.ALU | i.ALU64:
            return (operand, target) if operation == i.MOV else (target | operand, 0)
        case i.LDX:
            return source, target
        case i.ST:
            return target, 0
        case i.LD:
            return (0, target) if x.opcode == i.LD_IMM64 else (source | 1 << 6, 0)
        case i.STX:
            # An exchange that compares reads r0; what an atomic operation writes it may read as well.
            return target | source | _RESULT, 0
        case _ if operation == i.CALL and kind == i.JMP:
            return _ARGUMENTS, _ARGUMENTS | _RESULT
        case _ if operation == i.EXIT:
            return _RESULT, 0
        case _:
            return (0 if operation in (i.JA, i.JCOND) else target | operand), 0
