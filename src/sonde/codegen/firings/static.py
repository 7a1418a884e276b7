"""Static probes of processes (USDT): uprobes at instructions that do nothing, whose arguments are where notes say."""

from __future__ import annotations

from collections.abc import Callable, Set

from sonde.bpf import programs
from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault
from sonde.codegen.basis.generation import Generation, ProbeIndex, Unsupported
from sonde.codegen.basis.places import Place
from sonde.codegen.expressions.locations import number as number_of
from sonde.codegen.firings.cookies import index_in_process, padded
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.errors import Position
from sonde.model.probe import Probe, StaticArgument, StaticProbe, StaticSite, Uprobe
from sonde.model.types import Type


def expanded(
    probe: Probe, firing: StaticProbe, used: Set[int], caller: Callable[[StaticSite], int | None]
) -> list[Probe]:
    """The probe once for each way in which its sites have the arguments that are used and the address of the caller,
    with those sites."""
    by_places: dict[tuple[tuple[StaticArgument, ...], int | None], list[StaticSite]] = {}
    for site in firing.sites:
        by_places.setdefault((_used(site, used), caller(site)), []).append(site)
    return [
        probe._replace(firing=firing._replace(sites=tuple(site._replace(arguments=places) for site in sites)))
        for (places, _), sites in by_places.items()
    ]


def _used(site: StaticSite, used: Set[int]) -> tuple[StaticArgument, ...]:
    """The site's arguments, those that nobody looks at all alike."""
    count = max((number + 1 for number in used), default=0)
    return tuple(each if number in used else _UNUSED for number, each in enumerate(site.arguments[:count]))


_UNUSED = StaticArgument(8, False, None, reason="nobody looks at it")


class StaticContext:
    """Static probes of one process, or of files for whoever runs them, whose arguments are found alike."""

    kind = programs.KPROBE
    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_user = True
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...], is_multi: bool) -> None:
        """`is_multi`: they are attached by multi-uprobe links."""
        self.probes = probes
        self.index = _index(probes)
        self.attach_type = programs.TRACE_UPROBE_MULTI if is_multi else programs.ATTACH_NONE
        first = probes[0].firing
        assert isinstance(first, StaticProbe)
        self._pid, self._arguments = first.pid, first.sites[0].arguments

    def enter(self, g: Generation) -> Operand:
        return index_in_process(g, len(self.probes), self._pid)

    def argument(self, g: Generation, number: int) -> Operand:
        """0 for one that the site has not; one that cannot be had is a fault."""
        if number >= len(self._arguments):
            return Imm(0)
        value = self._arguments[number].value
        if value is not None:
            return number_of(g, value)
        after = g.b.label()
        fault(g, ILLEGAL_OPERATION, Imm(0))
        g.b.place(after)
        return Imm(0)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        if number >= len(self._arguments):
            raise Unsupported(f"args[{number}] of this probe", Position(None, 1, 1))
        return self.argument(g, number)


def at_sites(probe: Probe, firing: StaticProbe) -> list[Probe]:
    """The probe at each of its sites."""
    return [
        probe._replace(firing=Uprobe(firing.pid, firing.path, site.offset, "static", site.semaphore, file=firing.file))
        for site in firing.sites
    ]


def _index(probes: tuple[Probe, ...]) -> ProbeIndex:
    """Each probe at all its sites with its number as the cookie."""
    attachments = []
    for number, probe in enumerate(probes):
        assert isinstance(probe.firing, StaticProbe)
        attachments += [(each, number) for each in at_sites(probe, probe.firing)]
    return ProbeIndex(padded(len(probes)), tuple(range(len(probes))), tuple(attachments))
