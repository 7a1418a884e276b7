"""profile-n and tick-n: overflows of the cpu-clock event; the program is its overflow handler.

The context is struct bpf_perf_event_data: pt_regs, then sample_period and addr.
"""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.context import registers
from sonde.codegen.context.cookies import index_by_cookie, numbered
from sonde.codegen.generation import Generation, Unsupported
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.places import Place
from sonde.lang.errors import Position
from sonde.lang.types import Type
from sonde.probe import Probe


class TimerContext:
    """arg0 is the program counter in the kernel or 0, arg1 that in the process or 0."""

    kind = programs.PERF_EVENT
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = True
    own_frames = 0

    def __init__(self, probes: tuple[Probe, ...]) -> None:
        self.probes = probes
        self.index = numbered(probes)

    def enter(self, g: Generation) -> Operand:
        return index_by_cookie(g, len(self.probes), "perf_cookie")

    def argument(self, g: Generation, number: int) -> Operand:
        if number > 1:
            return Imm(0)
        counter = g.b.load(g.ctx, registers.IP, 8, invariant=True)
        mode = g.b.alu("and", g.b.load(g.ctx, registers.CS, 8, invariant=True), Imm(3))
        op = "eq" if number == 0 else "ne"
        return g.b.choose(op, mode, Imm(0), lambda: counter, lambda: Imm(0))

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        raise Unsupported("args[] of a timer probe", Position(None, 1, 1))

    def errno(self, g: Generation) -> Operand:
        return Imm(0)

    def is_trusted(self, number: int) -> bool:
        return False
