"""Which probes one BPF program can serve: those fired alike, with the same clauses."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sonde.codegen.basis import repeating, return_places
from sonde.codegen.basis.generation import RECORDS, REPLAYS, Context
from sonde.codegen.basis.kernels import has_prepare_exec
from sonde.codegen.basis.return_places import ReturnPlace
from sonde.codegen.basis.uses import arguments_used, follows, follows_arguments, samples, uses_arguments
from sonde.codegen.firings import (
    adapters,
    attachment,
    everywhere,
    iterator,
    overflow,
    packet,
    resumed,
    static,
    syscall,
    tracepoint,
    uprobe,
)
from sonde.codegen.firings import general as firings_general
from sonde.codegen.firings.internal import InternalContext
from sonde.model.errors import NO_PROBE, UNAVAILABLE, Position, SourceError
from sonde.model.probe import (
    EXECS,
    OVERFLOWS,
    SOCKET,
    TCX,
    XDP_GENERIC,
    XDP_NATIVE,
    Internal,
    KernelFunction,
    KernelIterator,
    Packet,
    Probe,
    RawTracepoint,
    StaticPattern,
    StaticProbe,
    StaticSite,
    Syscall,
    Timer,
    Tracepoint,
    Uprobe,
)
from sonde.model.program import Clause, Expr
from sonde.model.target import Target
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.codegen.firings.conditions import Conditions
    from sonde.codegen.firings.function import Signature
    from sonde.codegen.firings.tracepoint import EventField, Fields

# Most programs have probes of one kind or two, so the adapters of the kinds are imported where there are such probes.

_APART = "syscalls_apart"
"""The target's feature that a program attached to system calls is run for no others."""

_NATIVE = "native_calls"
"""The target's feature that there are no system calls but those of 64-bit programs."""


_GENERAL = "general_probes"
"""The target's feature that programs of any kind may call general probes."""

_TCX = "tcx"
"""The target's feature that programs can be attached to a device's traffic by a link of their own."""


class ProgramGroup(NamedTuple):
    """The probes and clauses of one program, and its name. `may_defer`: its firings may be broken off, or it is what
    goes on with those (`codegen/clauses/deferral.py`). `caller_at`: where its probes have the caller's address
    (`Generation.caller_at`). One that `calls` is the adapter of the general probe of that number, which
    `is_called` (`codegen/firings/adapters.py`), where the `condition` holds, if there is one."""

    name: str
    context: Context
    clauses: tuple[Clause, ...]
    may_defer: bool = False
    caller_at: tuple[tuple[int, int], ...] = ()
    calls: int | None = None
    is_called: bool = False
    condition: Expr | None = None


def group(
    clauses: Sequence[Clause], fields: Fields, target: Target, signature: Signature,
    return_place: ReturnPlace = return_places.unknown, xdp: str = "", conditions: Conditions | None = None,
) -> list[ProgramGroup]:  # fmt: skip
    """One group for each program; ERROR's clauses are left out, faults call them.

    Programs are attached in this order, and those of one tracepoint run in it: hidden clauses first, then by the
    probes' identifiers, so that which of two derived probes fires first does not depend on who wrote their clauses.
    `xdp` is `native` or `generic` where packets that arrive are to be met in XDP. `conditions` are those that adapters
    look at.
    """
    features = target.features
    by_probe: dict[Probe, list[Clause]] = {}
    for clause in clauses:
        for probe in clause.probes:
            found = by_probe.setdefault(probe, [])
            if not found or found[-1] is not clause:
                found.append(clause)
    fired = [
        (each, own)
        for probe, own in sorted(by_probe.items(), key=_order)
        if probe.firing != Internal("ERROR")
        for each in _fired(probe, own, target.features, return_place, xdp)
    ]
    groups, sets = _general(fired, fields, target.features, conditions or {}, return_place)
    general = {probe.id for each in groups for probe in each.context.probes}
    shapes: dict[tuple[object, ...], list[Probe]] = {}
    members: dict[tuple[object, ...], set[int]] = {}
    for probe, own in fired:
        if probe.id not in general:
            which = tuple(clause.id for clause in sets.get(probe.id, own))
            caller = return_places.place_of(probe, own, features, return_place)
            shape = *_shape(probe, own, which, features, fields), caller
            shapes.setdefault(shape, []).append(probe)
            members.setdefault(shape, set()).update(map(id, own))
    for shape, probes in shapes.items():
        own_clauses = tuple(c for c in clauses if id(c) in members[shape])
        caller_at = _caller_at([probes], own_clauses, features, return_place)
        if isinstance(probes[0].firing, KernelFunction):
            contexts = attachment.contexts(probes, own_clauses, signature, target)
        elif isinstance(probes[0].firing, KernelIterator):
            contexts = [_iterator(probes[0], signature)]
        elif isinstance(probes[0].firing, StaticPattern):
            contexts = [_everywhere(probes, own_clauses, target)]
        else:
            contexts = [_context(shape, probes, fields, target.features)]
        groups += [
            ProgramGroup(_name(context.probes, len(groups) + n), context, own_clauses, caller_at=caller_at)
            for n, context in enumerate(contexts)
        ]
    if general:
        # Those that are called stay in the order of their numbers.
        called = [each for each in groups if each.is_called]
        groups = called + sorted((each for each in groups if not each.is_called), key=_order_of)
    return _deferring(groups, target)


def _general(
    fired: Sequence[tuple[Probe, Sequence[Clause]]],
    fields: Fields,
    features: Set[str],
    conditions: Conditions,
    return_place: ReturnPlace,
) -> tuple[list[ProgramGroup], dict[int, tuple[Clause, ...]]]:
    """General probes and their adapters, where the engine has such; and by identifier of other probes the clauses that
    their program has, if not their own."""
    if _GENERAL not in features or not (conditions or _are_mixed(fired)):
        return [], {}

    def caller(probe: Probe, own: Sequence[Clause]) -> int | None:
        return return_places.place_of(probe, own, features, return_place)

    each_fired = [adapters.Fired(probe, tuple(own)) for probe, own in fired]
    all_of_them, sets = adapters.divided(each_fired, conditions, caller)
    groups: list[ProgramGroup] = []
    for number, (probes, clauses) in enumerate(all_of_them):
        alike: dict[tuple[object, ...], list[Probe]] = {}
        for probe in probes:
            alike.setdefault(adapters.own_program(probe, caller(probe, clauses)), []).append(probe)
        by_way = sorted(alike.values(), key=lambda own: -adapters.converted(adapters.kind_of(own[0])))
        ways = [
            firings_general.Way(_context(("",), own, fields, features), adapters.converted(adapters.kind_of(own[0])))
            for own in by_way
        ]
        called = firings_general.GeneralContext(ways)
        caller_at = _caller_at(by_way, clauses, features, return_place)
        groups.append(ProgramGroup(f"general{number}", called, clauses, caller_at=caller_at, is_called=True))
        places = dict(zip(called.probes, called.index.places, strict=True))
        by_kind: dict[str, list[tuple[Probe, int]]] = {}
        for probe in probes:
            kind = f"{probe.id}_{probe.name}" if probe.id in conditions else adapters.kind_of(probe)
            by_kind.setdefault(kind, []).append((probe, places[probe]))
        for kind, placed in by_kind.items():
            own = [probe for probe, _ in placed]
            condition = conditions.get(own[0].id)
            context = _context(("typed" if condition and follows(condition) else "",), own, fields, features)
            attached = tuple((each, place) for probe, place in placed for each in adapters.attached(probe))
            context.index = called.index._replace(attachments=attached)
            groups.append(
                ProgramGroup(f"from{number}_{kind}"[:15], context, clauses, calls=number, condition=condition)
            )
    return groups, sets


def _caller_at(
    alike: Sequence[Sequence[Probe]], clauses: Sequence[Clause], features: Set[str], return_place: ReturnPlace
) -> tuple[tuple[int, int], ...]:
    """Where probes have the caller's address, one behind the other, those that are `alike` in the same place."""
    found: list[tuple[int, int]] = []
    end = 0
    for probes in alike:
        end += len(probes)
        place = return_places.place_of(probes[0], clauses, features, return_place)
        known = return_places.UNKNOWN if place is None else place
        if found and found[-1][1] == known:
            del found[-1]
        found.append((end, known))
    return () if found[0] == (end, return_places.UNKNOWN) else tuple(found)


def _are_mixed(fired: Sequence[tuple[Probe, Sequence[Clause]]]) -> bool:
    """Whether a clause has probes that are fired in several ways, or with other clauses."""
    seen: dict[int, tuple[object, ...]] = {}
    for probe, own in fired:
        firing = probe.firing
        way = [getattr(firing, name, None) for name in ("is_return", "kind", "pid", "sites")]
        kind = type(firing), *way, tuple(clause.id for clause in own)
        if any(seen.setdefault(clause.id, kind) != kind for clause in own):
            return True
    return False


def divided(each: ProgramGroup) -> list[ProgramGroup]:
    """A group of clocks as one for each set of clauses that some of them have."""
    sets: dict[tuple[Clause, ...], list[Probe]] = {}
    if not isinstance(each.context.probes[0].firing, Timer):
        return [each]
    for probe in each.context.probes:
        ids = {probe.id}
        own = tuple(clause for clause in each.clauses if not ids.isdisjoint(other.id for other in clause.probes))
        sets.setdefault(own, []).append(probe)

    return [
        ProgramGroup(
            f"{each.name[:12]}_{number}", overflow.OverflowContext(tuple(probes)), own, caller_at=each.caller_at
        )
        for number, (own, probes) in enumerate(sets.items())
    ]


def _read_a_process(clauses: Sequence[Clause]) -> bool:
    # What is kept besides is not waited for.
    return any(repeating.reads_process(each) for each in clauses if not each.keeps)


def _deferring(groups: Sequence[ProgramGroup], target: Target) -> list[ProgramGroup]:
    """With programs that go on with the firings of others, before all others that a call's return fires. An engine that
    holds a system call while it is looked at needs none."""
    made: list[ProgramGroup] = []
    others: list[ProgramGroup] = []
    for each in groups:
        may_defer = _is_entry(each.context) and _read_a_process(each.clauses)
        if may_defer and _APART not in target.features:
            probes = each.context.probes
            execs = any(isinstance(p.firing, Syscall) and p.firing.name in EXECS for p in probes)
            context = resumed.ResumedContext(probes, each.context.index, execs and has_prepare_exec(target))
            made.append(ProgramGroup(f"r{each.name}"[:15], context, each.clauses, True))
            others.append(each._replace(may_defer=True))
        else:
            others.append(each)
    return [*made, *others]


def _is_entry(context: Context) -> bool:
    firing = context.probes[0].firing
    return isinstance(firing, Syscall) and not firing.is_return


def _order_of(each: ProgramGroup) -> tuple[bool, int]:
    return _order((each.context.probes[0], each.clauses))


def _order(item: tuple[Probe, Sequence[Clause]]) -> tuple[bool, int]:
    probe, clauses = item
    return not clauses[0].is_hidden, probe.id


def _fired(
    probe: Probe, clauses: Sequence[Clause], features: Set[str], return_place: ReturnPlace, xdp: str
) -> list[Probe]:
    """The probe with the firings to use: a trace event whose record nobody looks at is its raw tracepoint, which is
    detached at once, where perf takes a grace period for each; of a static probe the sites whose arguments are found
    alike fire one program; a packet's probe is where there is a hook for it."""
    firing = probe.firing
    if isinstance(firing, Packet):
        return [probe._replace(firing=firing._replace(hook=_hook(firing, features, xdp)))]
    if isinstance(firing, StaticProbe):

        def caller(site: StaticSite) -> int | None:
            return (
                return_places.of_site(firing, site, return_place)
                if return_places.are_wanted(clauses, features)
                else None
            )

        everything = frozenset(range(max(len(site.arguments) for site in firing.sites)))
        used = everything if RECORDS in features else arguments_used(clauses)
        if RECORDS not in features and all(len(each.probes) == 1 for each in clauses):
            _require_arguments(probe, firing, used, clauses[0].position)
        return static.expanded(probe, firing, used, caller)
    if isinstance(firing, Tracepoint) and firing.is_tracepoint and not uses_arguments(clauses):
        return [probe._replace(firing=RawTracepoint(firing.name))]
    return [probe]


def _require_arguments(probe: Probe, firing: StaticProbe, used: Set[int], position: Position) -> None:
    """Raises SourceError for a probe described alone that has an argument nowhere where a program could read it. Of
    several probes it is a fault of those that have not."""
    for number in sorted(used):
        places = [site.arguments[number] for site in firing.sites if number < len(site.arguments)]
        if places and all(each.value is None for each in places):
            kind = "it is of floating point, and " if places[0].is_float else ""
            what, why = f"arg{number} of {probe}", f"{kind}{places[0].reason}"
            raise SourceError(UNAVAILABLE, f"{what} cannot be had: {why}", position, about=(what, why))


def _hook(firing: Packet, features: Set[str], xdp: str) -> str:
    if xdp and not firing.is_egress:
        return XDP_NATIVE if xdp == "native" else XDP_GENERIC
    return TCX if _TCX in features else SOCKET


def _shape(
    probe: Probe, clauses: Sequence[Clause], which: tuple[int, ...], features: Set[str], fields: Fields
) -> tuple[object, ...]:
    """Probes with equal shapes share a program; `which` are the clauses of theirs.

    Which clauses run for a probe costs a question each time, so only the kernel's clocks, which fire seldom, and system
    calls, which share a tracepoint, share a program whatever their clauses are.
    """
    firing = probe.firing
    if isinstance(firing, Internal):
        return ("internal", firing.name)
    if isinstance(firing, Syscall):
        return ("syscall", firing.is_return, which if _APART in features else ())
    if isinstance(firing, Timer) and _GENERAL not in features:
        return ("clock", samples(clauses), overflow.sample_fields(clauses))
    if isinstance(firing, OVERFLOWS):
        return ("overflow", which)
    if isinstance(firing, Packet):
        return ("packet", firing.hook, firing.is_egress, firing.link, which)
    if isinstance(firing, Uprobe):
        return ("uprobe", firing.pid, firing.kind, firing.is_32_bit, which)
    if isinstance(firing, StaticPattern):
        return ("everywhere", firing.pid)
    if isinstance(firing, StaticProbe):
        return ("static", firing.pid, firing.sites[0].arguments, which)
    if isinstance(firing, KernelFunction):
        return ("function", firing.is_return, firing.is_raw, bool(firing.offset), which)
    used = sorted(arguments_used(clauses))
    if isinstance(firing, KernelIterator):
        return ("iterator", probe.id, which)
    if isinstance(firing, RawTracepoint):
        if follows_arguments(clauses) and REPLAYS not in features:
            return ("typed", probe.id, which)
        there = tuple(firing.arguments < 0 or number < firing.arguments for number in used)
        # All arguments are recorded, whatever the clauses look at.
        recorded = firing.arguments if RECORDS in features else -1
        return ("raw", probe.provider, there, which, recorded)
    return ("event", probe.provider, _places(fields(probe), used) if used else (), which)


def _places(fields: Sequence[EventField], used: Sequence[int]) -> tuple[object, ...]:
    """Where in its record a trace event has these fields: records that are alike there are for one program."""
    found = (fields[number] if number < len(fields) else None for number in used)
    return tuple(each and (each.offset, each.size, each.location, each.type) for each in found)


def _name(probes: Sequence[Probe], number: int) -> str:
    first = probes[0]
    if isinstance(first.firing, Internal):
        return first.firing.name
    text = f"{first.provider}_{first.name}" if len(probes) > 1 else f"{first.function or first.provider}_{first.name}"
    return "".join(c if c.isalnum() else "_" for c in f"p{number}_{text}")[:15]


def _everywhere(probes: Sequence[Probe], clauses: Sequence[Clause], target: Target) -> Context:
    if "uprobe_cookie" not in target.features:
        text = (
            f"{probes[0]}: the kernel does not tell static probes of all processes apart, for this user: that takes "
            "Linux 5.15, CAP_BPF and CAP_PERFMON"
        )
        if target.portable:
            text = f"{probes[0]} is for all processes, and cannot be saved: not every kernel tells their probes apart"
        raise SourceError(NO_PROBE, text, clauses[0].position, "name the process: python$target with -c or -p")
    return everywhere.EverywhereContext(tuple(probes), arguments_used(clauses), "uprobe_multi" in target.features)


def _iterator(probe: Probe, signature: Signature) -> Context:
    kind = signature(probe)
    assert kind is not None, "iterators are known by their functions"
    return iterator.IteratorContext(probe, kind)


def _context(shape: tuple[object, ...], probes: Sequence[Probe], fields: Fields, features: Set[str]) -> Context:
    firing = probes[0].firing
    if isinstance(firing, Internal):
        return InternalContext(probes[0])
    if isinstance(firing, Syscall):
        return syscall.SyscallContext(tuple(probes), _APART in features, _NATIVE in features)
    if isinstance(firing, OVERFLOWS):
        return overflow.OverflowContext(tuple(probes))
    if isinstance(firing, Packet):
        return packet.PacketContext(tuple(probes))
    if isinstance(firing, Uprobe):
        return uprobe.UprobeContext(tuple(probes), "uprobe_multi" in features)
    if isinstance(firing, StaticProbe):
        return static.StaticContext(tuple(probes), "uprobe_multi" in features)

    if isinstance(firing, RawTracepoint):
        return tracepoint.RawTracepointContext(tuple(probes), by_btf=shape[0] == "typed")
    assert isinstance(firing, Tracepoint)
    return tracepoint.TracepointContext(tuple(probes), fields)
