"""The record of a clause: its layout, planned before the code, and the code that gets, fills and hands it over.

The record is reserved in the ring and every value is generated straight into it. Where the ring is full the same code
writes to per-CPU memory that nobody reads, and the loss is counted, so that the clause's other effects still happen.
"""

from __future__ import annotations

from collections import deque

from sonde.bpf import maps as kinds
from sonde.codegen.generation import Generation, Record, Shared
from sonde.codegen.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.names import probe_id
from sonde.codegen.places import Memory
from sonde.codegen.shapes import end_of, field_of, round_up
from sonde.lang import program as tree
from sonde.lang.program import Aggregation, Clause, Expr
from sonde.spec import (
    HEADER_SIZE,
    Action,
    ClearAction,
    CommandAction,
    ExitAction,
    Field,
    MapSpec,
    NormalizeAction,
    OtherAction,
    PrintaAction,
    PrintfAction,
    RecordLayout,
    SetOptionAction,
    TraceAction,
    TracememAction,
    TruncAction,
)

RING = "ring"


class Plan:
    """Lays out one clause's record: `fields` in the order in which the statements will write them."""

    def __init__(self, clause: Clause, shared: Shared, numbers: dict[Aggregation, int]) -> None:
        self._clause = clause
        self._shared = shared
        self._numbers = numbers
        self._end = HEADER_SIZE
        self.fields: list[Field] = []
        self.actions: list[Action] = []
        for statement in clause.statements:
            action = self._action(statement)
            if action is not None:
                self.actions.append(action)

    def layout(self) -> RecordLayout | None:
        """None if the clause records nothing."""
        if not self.actions and self._clause.statements:
            return None
        size = round_up(self._end)
        return RecordLayout(self._clause.id, size, tuple(self.actions), not self._clause.statements)

    def _field(self, e: Expr) -> Field:
        return self._add(field_of(e, self._end, self._clause.probes, self._shared.settings))

    def _add(self, field: Field) -> Field:
        self._end = end_of(field)
        self.fields.append(field)
        return field

    def _optional(self, e: Expr | None) -> Field | None:
        return None if e is None else self._field(e)

    def _fields(self, values: tuple[Expr, ...]) -> tuple[Field, ...]:
        return tuple(self._field(v) for v in values)

    def _action(self, s: tree.Statement) -> Action | None:
        if isinstance(s, tree.Trace):
            return TraceAction(self._field(s.value))
        if isinstance(s, tree.Printf):
            return PrintfAction(s.conversions, self._fields(s.values))
        if isinstance(s, tree.Printa):
            return PrintaAction(s.conversions, tuple(self._numbers[a] for a in s.aggregations))
        if isinstance(s, tree.Tracemem):
            block = self._add(Field((self._end + 7) & -8, s.size, "bytes"))
            return TracememAction(block, self._optional(s.dynamic))
        if isinstance(s, tree.Exit):
            return ExitAction(self._field(s.status))
        if isinstance(s, tree.Clear):
            return ClearAction(self._numbers[s.aggregation])
        if isinstance(s, tree.Trunc):
            return TruncAction(self._numbers[s.aggregation], self._optional(s.keep))
        if isinstance(s, tree.Normalize):
            return NormalizeAction(self._numbers[s.aggregation], self._optional(s.factor))
        if isinstance(s, tree.SetOption):
            return SetOptionAction(self._field(s.name), self._optional(s.value))
        if isinstance(s, tree.FormattedCommand):
            return CommandAction(s.name, s.conversions, self._fields(s.values))
        if isinstance(s, tree.Act):
            return OtherAction(s.name, self._fields(s.arguments) if s.name in CONSUMER_ACTIONS else ())
        return None


CONSUMER_ACTIONS = ("ftruncate",)
"""Actions without a node of their own that are carried out where the record is read."""


def begin(g: Generation, layout: RecordLayout, fields: list[Field]) -> None:
    """Get memory for the record and write its header."""
    size = Imm(layout.size)
    base, reserved = g.b.register(), g.b.register()
    full, ready = g.b.label(), g.b.label()
    g.b.move(base, g.call("ringbuf_reserve", ring_argument(g), size, Imm(0)))
    g.b.move(reserved, Imm(1))
    g.b.branch("ne", base, Imm(0), ready, full)
    g.b.place(full)
    g.count("records")
    g.b.move(reserved, Imm(0))
    g.b.move(base, _spare(g, layout.size))
    g.b.branch("eq", base, Imm(0), g.exit)
    g.b.place(ready)
    g.record = Record(base, reserved)
    g.fields = deque(fields)
    _header(g, base, layout.clause)


def ring_argument(g: Generation) -> MapDescriptor | Reg:
    """The ring of this CPU, or the one of all."""
    if not g.shared.settings.rings_per_cpu:
        return MapDescriptor(RING)
    cpu = g.b.slot(8)
    g.b.store(cpu, 0, 4, g.call("get_smp_processor_id", pure="cpu"))
    ring = g.call("map_lookup_elem", MapDescriptor("rings"), SlotAddress(cpu))
    g.b.release(cpu)
    g.b.branch("eq", ring, Imm(0), g.exit)
    return ring


def _spare(g: Generation, size: int) -> Operand:
    key = g.b.slot(8)
    g.b.store(key, 0, 4, Imm(0))
    spec = MapSpec("spare", kinds.PERCPU_ARRAY, 4, size, 1)
    g.shared.maps.add(spec)
    if g.shared.maps.specs["spare"].value_size < size:
        g.shared.maps.resize("spare", size)
    result = g.call("map_lookup_elem", MapDescriptor("spare"), SlotAddress(key))
    g.b.release(key)
    return result


def _header(g: Generation, base: Reg, clause: int) -> None:
    g.b.store(base, 0, 4, Imm(clause))
    g.b.store(base, 4, 4, probe_id(g))
    g.b.store(base, 8, 4, g.call("get_smp_processor_id", pure="cpu"))
    g.b.store(base, 12, 4, Imm(0))


def finish(g: Generation, helper: str) -> None:
    """Submit or discard what was reserved."""
    assert g.record is not None
    with g.b.when("ne", g.record.reserved, Imm(0)):
        g.call(helper, g.record.base, Imm(0))


def next_field(g: Generation) -> Field:
    return g.fields.popleft()


def memory(g: Generation) -> Memory:
    assert g.record is not None
    return Memory(g.record.base, 0)


def submit_fault(g: Generation, epid: Operand, values: tuple[Operand, ...]) -> None:
    """The record that reports a fault: clause 0, the ERROR probe, then what faulted and how."""
    size = HEADER_SIZE + 32
    base = g.call("ringbuf_reserve", ring_argument(g), Imm(size), Imm(0))
    lost, end = g.b.label(), g.b.label()
    g.b.branch("eq", base, Imm(0), lost)
    _header(g, base, 0)
    g.b.store(base, HEADER_SIZE, 8, epid)
    for number, value in enumerate(values):
        g.b.store(base, HEADER_SIZE + 8 + 8 * number, 8, value)
    g.call("ringbuf_submit", base, Imm(0))
    g.b.jump(end)
    g.b.place(lost)
    g.count("records")
    g.b.place(end)


