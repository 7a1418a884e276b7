"""What a program does with its aggregations and arrays, gathered before code is generated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.codegen.basis.settings import Settings
from sonde.codegen.basis.shapes import Use, key_fields
from sonde.model import aggregating
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.probe import Packet, Probe, RawTracepoint
from sonde.model.program import Aggregation, Clause, Variable
from sonde.model.records import Field
from sonde.model.types import Pointer, Struct, resolve
from sonde.model.walk import below, nodes

Keys = dict[Variable | Aggregation, tuple[tuple[Field, ...], int]]


def gather_keys(clauses: Sequence[Clause], settings: Settings) -> Keys:
    """The key layout of every associative array and aggregation, wide enough for all its uses."""
    uses: dict[Variable | Aggregation, list[Use]] = {}
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, (tree.Aggregate, tree.Aggregated)):
                uses.setdefault(node.aggregation, []).append((node.keys, clause.probes))
            elif isinstance(node, tree.Element):
                uses.setdefault(node.variable, []).append((node.keys, clause.probes))
    shared = shares_map(what for what in uses if isinstance(what, Variable))
    keys = {what: key_fields(found, settings, _start(what, shared)) for what, found in uses.items()}
    if shared:
        size = max(size for what, (_, size) in keys.items() if _is_in_shared(what))
        keys |= {what: (fields, size) for what, (fields, _) in keys.items() if _is_in_shared(what)}
    return keys


def shares_map(arrays: Iterable[Variable]) -> bool:
    """Whether the associative arrays that are not kept are too many for a hash map each: they are then in one, told
    apart by a number that their keys begin with."""
    return len({each for each in arrays if each.kept is None}) > MAPS_FOR_ARRAYS


MAPS_FOR_ARRAYS = 32
"""A program may use 64 maps (MAX_USED_MAPS, include/linux/bpf_verifier.h), aggregations and its own included."""


def _is_in_shared(what: Variable | Aggregation) -> bool:
    """Whether it is one of the arrays that may share a map."""
    return isinstance(what, Variable) and what.kept is None


def _start(what: Variable | Aggregation, shared: bool) -> int:
    """Where the elements of the tuple begin in a key: behind the array's number and the thread's."""
    if not isinstance(what, Variable) or what.kept is not None:
        return 0
    return (8 if shared else 0) + (8 if what.scope == "self" else 0)


def gather_looked_at(clauses: Sequence[Clause]) -> frozenset[Aggregation]:
    """Aggregations whose elements programs look at."""
    found: set[Aggregation] = set()
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Aggregated):
                found.add(node.aggregation)
            elif isinstance(node, (tree.ElementCount, tree.Each)) and isinstance(node.of, Aggregation):
                found.add(node.of)
    return frozenset(found)


def gather_replaceable(clauses: Sequence[Clause]) -> frozenset[Aggregation]:
    """Aggregations whose map must be replaceable: keys are removed, or a value is cleared that cannot be subtracted, or
    that programs look at."""
    found = set()
    looked_at = gather_looked_at(clauses)
    for clause in clauses:
        for node in nodes(clause):
            is_clear = isinstance(node, tree.Clear) and (node.aggregation in looked_at or _is_final(node.aggregation))
            if isinstance(node, tree.Trunc) or is_clear:
                found.add(node.aggregation)
    return frozenset(found)


def _is_final(aggregation: Aggregation) -> bool:
    """Whether what was counted cannot be subtracted."""
    return aggregating.FUNCTIONS[aggregation.function].merging.subtract is None


def captures(clauses: Sequence[Clause]) -> bool:
    """Whether bytes of packets are to follow any of the records."""
    acts = ((node, each.probes) for each in clauses for node in nodes(each) if isinstance(node, tree.Act))
    return any(act.name == "capture" or known_packet(act, probes) is not None for act, probes in acts)


def looks_at_packets(clauses: Sequence[Clause]) -> bool:
    """Whether packets of devices fire any of them."""
    return any(isinstance(probe.firing, Packet) for each in clauses for probe in each.probes)


def known_packets(clauses: Sequence[Clause]) -> frozenset[int]:
    """Which arguments of probes the clauses record as packets, as `known_packet` has them."""
    acts = ((node, each.probes) for each in clauses for node in nodes(each) if isinstance(node, tree.Act))
    found = (known_packet(act, probes) for act, probes in acts)
    return frozenset(each for each in found if each is not None)


def known_packet(act: tree.Act, probes: Sequence[Probe]) -> int | None:
    """Which of the probe's arguments a pcap() records, where the kernel knows that it is a packet: at tracepoints that
    have it as an argument."""
    if act.name != "pcap" or not all(isinstance(probe.firing, RawTracepoint) for probe in probes):
        return None
    packet = act.arguments[0]
    while isinstance(packet, tree.Cast):
        packet = packet.operand
    if not isinstance(packet, tree.Argument):
        return None
    pointer = resolve(packet.type)
    target = resolve(pointer.to) if isinstance(pointer, Pointer) else None
    return packet.number if isinstance(target, Struct) and target.name == "sk_buff" else None


def uses_arguments(clauses: Sequence[Clause]) -> bool:
    """Whether any of the clauses looks at the probe's arguments."""
    return bool(arguments_used(clauses))


def arguments_used(clauses: Sequence[Clause]) -> frozenset[int]:
    """The numbers of the arguments that any of the clauses looks at."""
    found = set()
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Argument):
                found.add(node.number)
            elif isinstance(node, tree.Builtin) and node.name.startswith("arg") and node.name[3:].isdigit():
                found.add(int(node.name[3:]))
    return frozenset(found)


def follows_arguments(clauses: Sequence[Clause]) -> bool:
    """Whether any of the clauses takes an argument for a pointer, so that its type is worth knowing to the verifier."""
    return any(_is_pointer(node) for clause in clauses for node in nodes(clause))


def follows(expression: tree.Expr) -> bool:
    """The same of an expression."""
    return any(map(_is_pointer, below(expression)))


def _is_pointer(node: object) -> bool:
    if isinstance(node, tree.Argument):
        return isinstance(resolve(node.type), Pointer)
    if not isinstance(node, tree.Cast) or not isinstance(resolve(node.type), Pointer):
        return False
    operand: tree.Expr = node
    while isinstance(operand, tree.Cast):
        operand = operand.operand
    return isinstance(operand, tree.Builtin) and operand.name.startswith("arg")


def typed_arguments(clauses: Sequence[Clause]) -> int:
    """How many of the probe's typed arguments the clauses look at, from the first to the last that they do."""
    used = (node.number for clause in clauses for node in nodes(clause) if isinstance(node, tree.Argument))
    return max(used, default=-1) + 1


def arguments_from(first: int, clauses: Sequence[Clause]) -> Position | None:
    """Where a clause looks at a typed argument of that number or a higher one, None if none does."""
    used = (node for clause in clauses for node in nodes(clause) if isinstance(node, tree.Argument))
    return next((node.position for node in used if node.number >= first), None)


def overrides(clauses: Iterable[Clause]) -> bool:
    """Whether any of the clauses may have the function that is probed return at once."""
    return any(isinstance(node, tree.Act) and node.name == "override" for clause in clauses for node in nodes(clause))


def locates(clauses: Iterable[Clause]) -> bool:
    """Whether any of the clauses looks at a variable where registers lead to it."""
    return any(isinstance(node, tree.ProbeVariable) for clause in clauses for node in nodes(clause))


def samples(clauses: Iterable[Clause]) -> bool:
    """Whether any of the clauses may let a perf event's own sample through."""
    return any(isinstance(node, tree.Act) and node.name == "sample" for clause in clauses for node in nodes(clause))
