"""The record of statements without branches, planned before their code: which field each value takes and what is
done with it."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.codegen.basis.generation import Shared
from sonde.codegen.basis.outputs import RINGBUF
from sonde.codegen.basis.settings import Settings
from sonde.codegen.basis.shapes import end_of, field_of
from sonde.codegen.basis.uses import known_packet
from sonde.model import program as tree
from sonde.model.program import Aggregation, Clause, Expr, Variable
from sonde.model.records import (
    HEADER_SIZE,
    RECORDING,
    TYPED,
    Action,
    CaptureAction,
    ClearAction,
    CommandAction,
    EmptyAction,
    ExitAction,
    Field,
    NormalizeAction,
    OtherAction,
    PacketAction,
    PrintaAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    SetOptionAction,
    ShowAction,
    TraceAction,
    TracememAction,
    TruncAction,
)
from sonde.model.types import CHAR, Array, Struct, resolve
from sonde.model.units import whole_words
from sonde.typed import NamedTuple


class Recorded(NamedTuple):
    """A record: its layout, the fields in the order in which the statements write them, the most bytes of its long
    strings, and the field of what the kernel puts behind it, if it does."""

    layout: RecordLayout
    fields: tuple[Field, ...]
    tail: int
    packet: Field | None = None


def _identity(statement: tree.Statement) -> tuple[object, ...]:
    """What tells a statement of the source from others: several command lines may have one at the same place."""
    position = getattr(statement, "position", None)
    return position, getattr(statement, "names", ()), getattr(statement, "conversions", ())


class RecordPlan:
    """Lays out one record of a clause."""

    def __init__(
        self, clause: Clause, statements: Sequence[tree.Statement], shared: Shared, numbers: dict[Aggregation, int]
    ) -> None:
        self._clause = clause
        self._shared = shared
        self._numbers = numbers
        self._time = Field(HEADER_SIZE, 8, "int") if shared.settings.times and not closes(statements) else None
        self._end = HEADER_SIZE if self._time is None else end_of(self._time)
        self._tail = 0
        self._packet_field: Field | None = None
        self._order: list[Field] = []
        self.actions: list[Action] = []
        self._statements: list[int] = []
        for statement in statements:
            action = self._action(statement)
            if action is not None:
                self.actions.append(action)
            if isinstance(action, RECORDING):
                known = shared.statements
                self._statements.append(known.setdefault(_identity(statement), len(known) + 1))

    def recorded(self, number: int) -> Recorded:
        """The record, with that number; without actions it is a default one, which only shows its line."""
        size, actions = whole_words(self._end), tuple(self.actions)
        clause = self._clause.id
        numbers = self._shared.numbers.get(clause, {}).items()
        others = tuple((probe, number) for probe, number in numbers if number != clause)
        layout = RecordLayout(
            number, size, actions, not actions, clause, time=self._time, others=others,
            statements=tuple(self._statements),
        )  # fmt: skip
        return Recorded(layout, tuple(self._order), self._tail, self._packet_field)

    def _field(self, e: Expr) -> Field:
        field = field_of(e, self._end, self._clause.probes, self._shared.settings)
        if field.kind == "string" and field.size > IN_PLACE_STRING:
            self._tail += whole_words(field.size)
            field = Field(field.offset, 8, "long_string")
        return self._add(field)

    def _add(self, field: Field) -> Field:
        self._end = end_of(field)
        self._order.append(field)
        return field

    def _optional(self, e: Expr | None) -> Field | None:
        return None if e is None else self._field(e)

    def _fields(self, values: tuple[Expr, ...]) -> tuple[Field, ...]:
        return tuple(self._field(v) for v in values)

    def _shown(self, e: Expr) -> Field:
        """A value of printf(): that of a structure or an array says how print() shows it."""
        field, base = self._field(e), resolve(e.type)
        if field.kind == "bytes" and (isinstance(base, Struct) or (isinstance(base, Array) and base.of != CHAR)):
            return field._replace(detail=f"{field.detail}{TYPED}{self._shared.types.number(e.type)}")
        return field

    def _action(self, s: tree.Statement) -> Action | None:
        if isinstance(s, tree.Trace):
            return TraceAction(self._field(s.value))
        if isinstance(s, tree.Printf):
            return PrintfAction(s.conversions, tuple(map(self._shown, s.values)))
        if isinstance(s, tree.Print):
            return self._print(s)
        if isinstance(s, tree.Printa):
            return PrintaAction(s.conversions, tuple(self._numbers[a] for a in s.aggregations))
        if isinstance(s, tree.Show):
            return self._show(s)
        if isinstance(s, tree.Tracemem):
            block = self._add(Field(whole_words(self._end), s.size, "bytes"))
            return TracememAction(block, self._optional(s.dynamic))
        if isinstance(s, tree.Exit):
            return ExitAction(self._field(s.status))
        if isinstance(s, tree.Clear):
            return ClearAction(self._numbers[s.aggregation])
        if isinstance(s, tree.Trunc):
            return TruncAction(self._numbers[s.aggregation], self._optional(s.keep))
        if isinstance(s, tree.Empty):
            return EmptyAction(self._shared.arrays[s.of], s.keeps_keys)
        if isinstance(s, tree.Normalize):
            return NormalizeAction(self._numbers[s.aggregation], self._optional(s.factor))
        if isinstance(s, tree.SetOption):
            return SetOptionAction(self._field(s.name), self._optional(s.value))
        if isinstance(s, tree.FormattedCommand):
            return CommandAction(s.name, s.conversions, self._fields(s.values))
        if isinstance(s, tree.Act) and s.name == "pcap":
            return self._packet(s)
        if isinstance(s, tree.Act) and s.name == "capture":
            return self._capture()
        if isinstance(s, tree.Act) and s.name in CLOSING:
            return OtherAction(s.name, (self._add(Field(HEADER_SIZE, 8, "int")), self._add(WRITTEN)))
        if isinstance(s, tree.Act) and is_recorded(s):
            return OtherAction(s.name, self._fields(s.arguments) if s.name in CONSUMER_ACTIONS else ())
        return None

    def _show(self, s: tree.Show) -> ShowAction:
        is_array = isinstance(s.of, Variable)
        number = self._shared.arrays[s.of] if isinstance(s.of, Variable) else self._numbers[s.of]
        return ShowAction(number, is_array, self._optional(s.top), self._optional(s.divisor))

    def _print(self, s: tree.Print) -> PrintAction:
        number = self._shared.types.number(s.type)
        if s.by_address:
            address = self._field(s.value)
            size = min(self._shared.types.specs[number].size, self._shared.settings.printed_size)
            return PrintAction(number, self._add(Field(whole_words(self._end), size, "bytes")), address)
        field = self._field(s.value)
        # An integer is written as one, and shown by its type's description as all else.
        shown = field._replace(kind="bytes", signed=False) if field.kind == "int" else field
        return PrintAction(number, shown, None, s.label)

    def _packet(self, s: tree.Act) -> PacketAction:
        """Time, length, length captured, link type, and as much of the packet as the option says: in a slot, or behind
        the record, where the kernel puts it."""
        start = whole_words(self._end)
        if is_appended(s, self._clause, self._shared.settings):
            time, length, link = Field(start, 8, "int"), Field(start + 8, 4, "int"), Field(start + 12, 4, "int")
            self._packet_field = data = Field(start + 16, 8, "long_bytes")
            captured = Field(data.offset + 4, 4, "int")
            return PacketAction(*(self._add(field) for field in (time, length, captured, link, data)))
        sizes = (8, 4, 4, 4, self._shared.settings.pcapsize)
        offsets = (0, 8, 12, 16, 24)
        kinds = ("int", "int", "int", "int", "bytes")
        fields = (Field(start + at, size, kind) for at, size, kind in zip(offsets, sizes, kinds, strict=True))
        return PacketAction(*(self._add(field) for field in fields))

    def _capture(self) -> CaptureAction:
        """Time, length, and where the packet is behind the record."""
        start = whole_words(self._end)
        time, length, data = Field(start, 8, "int"), Field(start + 8, 4, "int"), Field(start + 12, 8, "long_bytes")
        self._packet_field = data
        return CaptureAction(*(self._add(field) for field in (time, length, data)))


_RECORDED = (
    tree.Trace, tree.Printf, tree.Print, tree.Printa, tree.Show, tree.Tracemem, tree.Exit, tree.Clear, tree.Trunc,
    tree.Empty, tree.Normalize, tree.SetOption, tree.FormattedCommand,
)  # fmt: skip
_UNRECORDED = ("speculate", "sample")
"""Actions that only the program itself knows of."""


def is_recorded(s: tree.Statement) -> bool:
    """Whether the statement has a part in a record."""
    return isinstance(s, _RECORDED) or (isinstance(s, tree.Act) and s.name not in _UNRECORDED)


def is_appended(s: tree.Statement, clause: Clause, settings: Settings) -> bool:
    """Whether a statement has the kernel append a packet to its record."""
    if not isinstance(s, tree.Act) or settings.output == RINGBUF:
        return False
    return s.name == "capture" or known_packet(s, clause.probes) is not None


IN_PLACE_STRING = 512
"""Strings that can be longer, NUL included, travel behind the fixed part of their record, as long as they are."""

CLOSING = ("commit", "discard")
"""What ends a speculation, each with a record of its own: the speculation, and how many records it has."""

WRITTEN = Field(HEADER_SIZE + 8, 8, "int")


def closes(statements: Sequence[tree.Statement]) -> bool:
    """Whether they are commit() or discard(), whose records are all alike."""
    return bool(statements) and isinstance(statements[0], tree.Act) and statements[0].name in CLOSING


CONSUMER_ACTIONS = ("ftruncate",)
"""Actions without a node of their own that are carried out where the record is read."""
