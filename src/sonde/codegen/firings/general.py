"""General probes: the caller's context has been converted, so arguments and all else stand in the probe's own."""

from __future__ import annotations

from sonde.bpf import probe_context, programs
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Place
from sonde.codegen.firings.cookies import numbered
from sonde.codegen.firings.plain import trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.probe import OVERFLOWS, Probe
from sonde.model.types import Type, is_signed, size_of


class GeneralContext:
    """The structure of `bpf/probe_context.py`; the cookie is the probe's index."""

    kind = programs.PROBE
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_user = False
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...]) -> None:
        self.probes = probes
        self.index = numbered(probes)

    def enter(self, g: Generation) -> Operand:
        if len(self.probes) == 1:
            return Imm(0)
        index = g.b.load(g.ctx, probe_context.COOKIE, 8, invariant=True)
        g.b.branch("ge", index, Imm(len(self.probes)), g.leave)
        return index

    def argument(self, g: Generation, number: int) -> Operand:
        if number >= probe_context.MAX_ARGUMENTS:
            return Imm(0)
        argument = g.b.load(g.ctx, probe_context.ARGUMENTS + 8 * number, 8, invariant=True)
        if number <= 1 or not any(isinstance(probe.firing, OVERFLOWS) for probe in self.probes):
            return argument
        # Objects find the period and the address there, clauses nothing (`firings/overflow.py`).
        kind = g.b.load(g.ctx, probe_context.KIND, 4, invariant=True)
        return g.b.choose("eq", kind, Imm(programs.PERF_EVENT), lambda: Imm(0), lambda: argument)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return g.b.extend(self.argument(g, number), size_of(type_) or 8, is_signed(type_))

    def errno(self, g: Generation) -> Operand:
        return g.b.load(g.ctx, probe_context.ERRNO, 4, invariant=True)
