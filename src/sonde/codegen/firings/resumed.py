"""System calls whose entry's firing was broken off (`codegen/clauses/deferral.py`), where it goes on: at sys_exit, or,
if the call is an exec that will succeed, at sched_prepare_exec. The arguments are those that were kept."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation, ProbeIndex
from sonde.codegen.basis.places import Place
from sonde.codegen.clauses.deferral import ARGUMENTS, INDEX, TIME, WHERE, kept_firing
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.firings.syscall import SyscallContext
from sonde.codegen.intermediate.ir import Imm, Operand, Reg
from sonde.model.named_maps import WAITING
from sonde.model.probe import Probe, RawTracepoint
from sonde.model.types import Type, is_signed, size_of


class ResumedContext:
    """The entries of a `SyscallContext`, numbered as there; `execs`: some are calls that may replace the process."""

    kind = SyscallContext.kind
    attach_type = SyscallContext.attach_type
    attach_to = SyscallContext.attach_to
    has_kernel_stack = SyscallContext.has_kernel_stack
    own_frames = SyscallContext.own_frames
    is_user = SyscallContext.is_user
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...], index: ProbeIndex, execs: bool) -> None:
        self.probes = probes
        events = ("sys_exit", "sched_prepare_exec") if execs else ("sys_exit",)
        attached = tuple((probes[0]._replace(firing=RawTracepoint(event)), 0) for event in events)
        self.index = index._replace(attachments=attached)

    def enter(self, g: Generation) -> Operand:
        waiting = g.b.map_value(WAITING)
        g.b.branch("eq", g.b.load(waiting, 0, 8), Imm(0), g.leave)
        firing = self._firing(g)
        where = g.b.copy(g.b.load(firing, WHERE, 8))
        g.b.branch("eq", where, Imm(0), g.leave)
        g.b.store(firing, WHERE, 8, Imm(0))
        g.b.atomic_add(waiting, 0, Imm(-1))
        g.resumed = where
        g.firing_time = g.b.copy(g.b.load(firing, TIME, 8))
        if self.index.size == 1:
            return Imm(0)
        number = g.b.load(firing, INDEX, 8)
        g.b.branch("ge", number, Imm(self.index.size), g.leave)
        return number

    def _firing(self, g: Generation) -> Reg:
        firing = kept_firing(g)
        g.b.branch("eq", firing, Imm(0), g.leave)
        return firing

    def argument(self, g: Generation, number: int) -> Operand:
        return g.b.load(self._firing(g), ARGUMENTS + 8 * number, 8) if number < 6 else Imm(0)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return g.b.extend(self.argument(g, number), size_of(type_) or 8, is_signed(type_))
