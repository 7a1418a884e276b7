"""The values of D that a captured packet has with it: what stands before capture() in the same record.

A reader of the file finds them twice: as text, the packet's comment, and as the bytes of the record, a custom option
(docs/records.md). Custom options of the section's header say what these bytes are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import takewhile

from sonde.captures.interfaces import InterfacePlace
from sonde.formats import pcapng
from sonde.model.plain import to_plain
from sonde.model.probe import Probe
from sonde.model.records import (
    Action,
    CaptureAction,
    CommandAction,
    Field,
    PacketAction,
    PrintaAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    TraceAction,
    TracememAction,
)
from sonde.model.spec import TracingSpec
from sonde.typed import NamedTuple

MAGIC = b"sonde\0\0\1"
"""What data of sonde's begin with, under a number that others may use as well."""

_PIECE = 60000

VALUES = (TraceAction, TracememAction, PrintfAction, PrintAction)
"""Actions whose data belong to the packet that is captured behind them."""

PACKETS = (CaptureAction, PacketAction)

SHOWN = (*VALUES, PrintaAction, CommandAction)


class RecordedValue(NamedTuple):
    """A value in a record: what recorded it, where it stands, as in `spec.Field`, and what the source calls it."""

    action: str
    field: Field
    name: str = ""


class Described(NamedTuple):
    """A kind of record that ends with a packet, by number: `clause` writes it, `values` are before the packet."""

    number: int
    clause: int
    values: tuple[RecordedValue, ...]


class NamedProbe(NamedTuple):
    id: int
    name: str


class CaptureHeader(NamedTuple):
    """What the header says; `strings` are those that fields of kind `interned` are indexes into."""

    layouts: tuple[Described, ...]
    probes: tuple[NamedProbe, ...]
    strings: tuple[str, ...]


def capture_of(layout: RecordLayout) -> CaptureAction | None:
    """The capture() of a record, if it has one."""
    return next((action for action in layout.actions if isinstance(action, CaptureAction)), None)


def has_packet(layout: RecordLayout) -> bool:
    """Whether the record has a packet, of capture() or of pcap()."""
    return any(isinstance(action, PACKETS) for action in layout.actions)


def values_of(layout: RecordLayout) -> tuple[Action, ...]:
    """The actions before the first packet, whose data belong to it."""
    before = takewhile(lambda action: not isinstance(action, PACKETS), layout.actions)
    return tuple(action for action in before if isinstance(action, VALUES))


def shown_after(layout: RecordLayout) -> RecordLayout | None:
    """What is left to be shown of a record whose packet and values are in the file; None if that is nothing."""
    values = values_of(layout)
    left = tuple(action for action in layout.actions if not isinstance(action, PACKETS) and action not in values)
    return layout._replace(actions=left) if any(isinstance(action, SHOWN) for action in left) else None


def _values(layout: RecordLayout) -> Iterator[RecordedValue]:
    values = list(_described(values_of(layout)))
    for value, name in zip(values, layout.names or ("",) * len(values), strict=True):
        yield value._replace(name=name)


def _described(actions: Iterable[Action]) -> Iterator[RecordedValue]:
    for action in actions:
        match action:
            case TraceAction(field):
                yield RecordedValue("trace", field)
            case TracememAction(field, _):
                yield RecordedValue("tracemem", field)
            case PrintAction(_, shown, _):
                yield RecordedValue("print", shown)
            case PrintfAction(_, fields):
                yield from (RecordedValue("printf", field) for field in fields)


def description(spec: TracingSpec) -> list[pcapng.Option]:
    """The options that describe the values, as text in JSON that goes on from one to the next; none where packets have
    no values."""
    layouts = [layout for layout in spec.records if has_packet(layout) and values_of(layout)]
    if not layouts:
        return []

    described = tuple(Described(each.number, each.clause, tuple(_values(each))) for each in layouts)
    whole = CaptureHeader(described, tuple(map(_named, spec.probes)), tuple(_text(each) for each in spec.strings))
    text = json.dumps(to_plain(whole)).encode()
    return [_custom(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE)]


def _named(probe: Probe) -> NamedProbe:
    return NamedProbe(probe.id, str(probe))


def _text(characters: bytes) -> str:
    return characters.decode(errors="replace")


RECORD = 4 + 4 + len(MAGIC)
"""Where in a custom option the record begins."""


def options_of(place: InterfacePlace, comment: bytes, record: memoryview | None) -> list[pcapng.Option]:
    """The options of a packet: its comment, unless it is empty, where it was, and its values, the record's bytes up to
    the packet."""
    found = [(pcapng.COMMENT, pcapng.utf8(comment))] if comment else []
    found += place.options
    if record is not None:
        found.append(_custom(record))
    return found


def _custom(data: bytes | memoryview) -> pcapng.Option:
    return pcapng.custom_option(pcapng.EXAMPLE_ENTERPRISE, MAGIC + data)
