"""Overflows of perf events, those of profile-n and tick-n among them: the program is their handler.

The context is struct bpf_perf_event_data: struct pt_regs, then sample_period and addr.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import registers
from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Place
from sonde.codegen.expressions.sample_members import asked_for
from sonde.codegen.firings.cookies import index_by_cookie, numbered
from sonde.codegen.firings.plain import no_errno
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.probe import Probe, Timer
from sonde.model.program import Clause
from sonde.model.types import Type
from sonde.model.walk import nodes


def sample_fields(clauses: Sequence[Clause]) -> int:
    """What clauses want perf to be asked for: bits of attr.sample_type."""
    return asked_for(node for clause in clauses for node in nodes(clause))


class OverflowContext:
    """arg0 is the program counter in the kernel or 0, arg1 that in the process or 0."""

    kind = programs.PERF_EVENT
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = True
    own_frames = 0
    is_user = False
    errno = no_errno

    def __init__(self, probes: tuple[Probe, ...]) -> None:
        self.probes = probes
        self.index = numbered(probes)

    def enter(self, g: Generation) -> Operand:
        # What a process starts inherits the event's program, but not its cookie (inherit_event, kernel/events/core.c).
        clocks = all(isinstance(probe.firing, Timer) for probe in self.probes)
        inherits = g.shared.settings.scope == "processes" or (not clocks and g.shared.settings.scope != "system")
        feature = "" if inherits else "perf_cookie"
        return index_by_cookie(g, len(self.probes), feature)

    def argument(self, g: Generation, number: int) -> Operand:
        if number > 1:
            return Imm(0)
        counter = g.b.load(g.ctx, registers.PROGRAM_COUNTER, 8, invariant=True)
        mode = g.b.alu("and", g.b.load(g.ctx, registers.MODE, 8, invariant=True), Imm(registers.MODE_BITS))
        op = "eq" if number == 0 else "ne"
        return g.b.choose(op, mode, Imm(registers.KERNEL_MODE), lambda: counter, lambda: Imm(0))

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return g.ctx

    def is_trusted(self, number: int) -> bool:
        return True
