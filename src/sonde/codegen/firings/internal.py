"""BEGIN, END and ERROR: fired by the session, or by a fault."""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.basis.faults import unpacked
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Place
from sonde.codegen.firings.cookies import numbered
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.errors import Position
from sonde.model.probe import Internal, Probe
from sonde.model.types import Type

_NOWHERE = Position(None, 1, 1)


class InternalContext:
    """A raw tracepoint program that is run, not attached; its arguments are all 0, but for ERROR's."""

    kind = programs.RAW_TRACEPOINT
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_user = False
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probe: Probe) -> None:
        self.probes: tuple[Probe, ...] = (probe,)
        firing = probe.firing
        if isinstance(firing, Internal) and firing.is_measured:
            # The kernel runs programs of packets as often as it is told, and says how long that took.
            self.kind = programs.XDP
        self.index = numbered(self.probes)

    def enter(self, g: Generation) -> Operand:
        return Imm(0)

    def argument(self, g: Generation, number: int) -> Operand:
        """ERROR: arg1 probe, arg2 clause, arg3 place in the program, arg4 fault code, arg5 value.

        Clauses are counted from 0 here, as messages name them.
        """
        if not g.is_error_routine or not 1 <= number <= 5:
            return Imm(0)
        parameters = g.parameters
        if number == 1:
            return g.b.alu("rsh", parameters[1], Imm(32))
        if number == 2:
            return g.b.alu("sub", g.b.extend(parameters[1], 4, False), Imm(1))
        return unpacked(g)[number - 3]

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        raise Unsupported("args[] of this probe", _NOWHERE)
