"""Static probes (USDT) of all processes: programs that serve sites which are found while they run. A site's cookie is
the number of its row in the program's table, which says what its names and clauses are and where its arguments."""

from __future__ import annotations

from collections.abc import Set

from sonde.bpf import programs
from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault_if
from sonde.codegen.basis.generation import Generation, ProbeIndex
from sonde.codegen.basis.identity import process
from sonde.codegen.basis.names import argument_offset, row
from sonde.codegen.basis.places import Memory, Place, Remote
from sonde.codegen.expressions.access import fetch_unchecked
from sonde.codegen.firings.cookies import index_by_cookie
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines import sites
from sonde.model.named_maps import ABSENT, IN_MEMORY, SITES, UNKNOWN
from sonde.model.probe import Probe, StaticPattern
from sonde.model.types import Type


class EverywhereContext:
    """What the static probes of one process, or of all but sonde's own, fire that match one of some patterns."""

    kind = programs.KPROBE
    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_user = True
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...], used: Set[int], is_multi: bool) -> None:
        """`used` are the arguments that clauses look at; `is_multi`: sites are attached to by multi-uprobe links."""
        self.probes = probes
        first = probes[0].firing
        assert isinstance(first, StaticPattern)
        self._pid = first.pid
        attachments = tuple((probe, number) for number, probe in enumerate(probes))
        places = tuple(range(len(probes)))
        self.index = ProbeIndex(SITES, places, attachments, max((each + 1 for each in used), default=0))
        self.attach_type = programs.TRACE_UPROBE_MULTI if is_multi else programs.ATTACH_NONE

    def enter(self, g: Generation) -> Operand:
        if self._pid:
            g.b.branch("ne", process(g), Imm(self._pid), g.leave)
        else:
            g.b.branch("eq", process(g), g.b.stamp("tracer"), g.leave)
        return index_by_cookie(g, SITES, "uprobe_cookie")

    def argument(self, g: Generation, number: int) -> Operand:
        """0 for one that the site has not; one that cannot be had is a fault."""
        place = g.b.in_register(g.b.alu("add", row(g), Imm(argument_offset(g, number))))
        result = g.b.copy(Imm(0))
        how = g.b.load(place, sites.HOW, 1)
        with g.b.when("ne", how, Imm(ABSENT)):
            fault_if(g, "eq", how, Imm(UNKNOWN), ILLEGAL_OPERATION, Imm(0))
            slot = g.b.slot(8)
            value = g.routine("site_argument", g.ctx, place)
            g.b.store(slot, 0, 8, value)
            with g.b.when("eq", how, Imm(IN_MEMORY)):
                g.b.store(slot, 0, 8, Imm(0))
                size = g.b.alu("add", g.b.alu("and", g.b.load(place, sites.LAST, 1), Imm(7)), Imm(1))
                fetch_unchecked(g, Remote(value, 0, True), Memory(slot, 0), size)
            self._extend(g, place, g.b.load(slot, 0, 8), result)
            g.b.release(slot)
        return result

    def _extend(self, g: Generation, place: Operand, whole: Operand, result: Operand) -> None:
        """The bits of a value that are the argument's, as its number."""
        place, result = g.b.in_register(place), g.b.in_register(result)
        above = g.b.alu("and", g.b.load(place, sites.ABOVE, 1), Imm(63))
        below = g.b.alu("and", g.b.load(place, sites.BELOW, 1), Imm(63))
        shifted = g.b.in_register(g.b.alu("lsh", g.b.alu("rsh", whole, below), above))
        g.b.move(result, g.b.alu("rsh", shifted, above))
        with g.b.when("ne", g.b.load(place, sites.SIGNED, 1), Imm(0)):
            g.b.move(result, g.b.alu("arsh", shifted, above))

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return self.argument(g, number)
