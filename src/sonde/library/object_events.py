"""What the programs of an object write as events: records and maps as values, prints as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sonde.bpf import maps
from sonde.library.events import Aggregation, Event, Loss, Message, RingRecord, Text
from sonde.library.objects import Object, StructureKey, object_value
from sonde.library.values import CapturedPacket
from sonde.model.errors import CannotShowError
from sonde.model.probe import Probe
from sonde.model.records import TypeSpec
from sonde.model.samples import SampleSink
from sonde.model.spec import MapSpec
from sonde.report.headed_packets import HeadedPackets
from sonde.report.object_sink import ObjectSink, PacketSink
from sonde.report.object_text import MapTypes, each_cpu, is_shown, whole_record
from sonde.report.refused_probes import refused_probes
from sonde.report.value import value_text
from sonde.typed import Any

_WORDS = (1, 2, 4, 8)


class ObjectEvents(ObjectSink):
    """Gives events to `put`. `types` are those of `by_map`."""

    def __init__(
        self, types: Sequence[TypeSpec], by_map: Mapping[str, MapTypes], put: Callable[[list[Event]], None]
    ) -> None:
        self._types = types
        self._by_map = by_map
        self._put = put
        self._headed: dict[str, HeadedPackets] = {}
        self._packets: PacketSink | None = None
        self._waiting: list[Event] = []

    def printed(self, text: bytes) -> None:
        self._waiting.append(Text(text if text.endswith(b"\n") else text + b"\n"))

    def written(self, chunks: Iterable[bytes]) -> None:
        self._waiting += map(Text, chunks)

    def for_packets(self, arrays: Iterable[str], packets: PacketSink | None) -> None:
        for name in arrays:
            known = self._by_map.get(name, MapTypes()).value
            if known is not None:
                self._headed[name] = HeadedPackets(self._types, known)
        self._packets = packets

    def record(self, name: str, data: bytes, moment: int = 0) -> None:
        known = self._by_map.get(name, MapTypes()).value
        parted = self._headed[name].parted(data) if name in self._headed else None
        time, packet = moment or None, None
        if parted is not None and known is not None:
            head, rest = bytes(parted.head), bytes(parted.data)
            if self._packets is not None:
                text = value_text(self._types, known, head)
                self._packets.write(name, parted.device, moment, parted.length, rest, text)
                return
            data, packet = head, CapturedPacket(moment, parted.length, rest)
        if known is not None:
            data = whole_record(self._types, known, data)
            size = self._types[known].size
            if size <= len(data) < size + 8:
                self._waiting.append(RingRecord(name, time, self._object(known, data), packet))
                return
        self._waiting.append(RingRecord(name, time, data, packet))

    def _object(self, kind: int, data: bytes) -> Object:
        return Object(object_value(self._types, kind, data), self._types[kind].name, None)

    def lost(self, name: str, count: int) -> None:
        if count:
            text = f"{count} record{'' if count == 1 else 's'} of {name} lost: there was no room"
            self._waiting.append(Loss("records", count, None, text))

    def left_out(self, refused: Sequence[Probe]) -> None:
        self._waiting.append(Message(refused_probes(refused)))

    def lost_firings(self, reason: str, count: int) -> None:
        if count:
            text = f"{count} firing{'' if count == 1 else 's'} lost: {reason}"
            self._waiting.append(Loss("firings", count, None, text))

    def lost_samples(self, count: int) -> None:
        if count:
            text = f"{count} sample{'' if count == 1 else 's'} lost: there was no room"
            self._waiting.append(Loss("samples", count, None, text))

    def sample_lines(self) -> SampleSink:
        remedy = "text does, and a perf.data file: sonde record --object FILE"
        raise CannotShowError("records of objects as values", "samples that programs let through", remedy)

    def was_full(self, name: str, times: int, size: int) -> None:
        text = f"ring buffer {name} was full: records may be lost, which Linux does not count"
        self._waiting.append(Loss("full rings", times, None, f"{text}; --map {name}={2 * size} makes it larger"))

    def can_show(self, spec: MapSpec) -> bool:
        return is_shown(spec)

    def maps(self, found: Sequence[tuple[MapSpec, Sequence[tuple[bytes, bytes]]]]) -> None:
        for spec, elements in filter(lambda each: is_shown(each[0]), found):
            self._waiting.append(Aggregation((spec.name,), self._rows(spec, elements)))

    def _rows(self, spec: MapSpec, elements: Sequence[tuple[bytes, bytes]]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        """The elements by their keys; of global data variables by their names; of stacks their addresses."""
        known = self._by_map.get(spec.name, MapTypes())
        if known.variables:
            data = elements[0][1]
            return {
                (name,): (object_value(self._types, kind, data[offset : offset + size]),)
                for name, kind, offset, size in known.variables
            }
        if spec.kind == maps.STACK_TRACE:
            return {(int.from_bytes(key, "little"),): (_addresses(value),) for key, value in sorted(elements)}
        rows = {}
        for key, value in sorted(elements, key=lambda each: each[0][::-1]):
            found = [self._value(known.value, each) for each in each_cpu(spec, value)]
            rows[_as_key(self._value(known.key, key)),] = (found[0] if len(found) == 1 else found,)
        return rows

    def _value(self, kind: int | None, data: bytes) -> Any:
        if kind is not None:
            return object_value(self._types, kind, data)
        return int.from_bytes(data, "little") if len(data) in _WORDS else data

    def flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._put(waiting)


def _addresses(stack: bytes) -> list[int]:
    found = [int.from_bytes(stack[at : at + 8], "little") for at in range(0, len(stack) & ~7, 8)]
    while found and not found[-1]:
        found.pop()
    return found


def _as_key(value: Any) -> Any:
    """A value that keys of a dictionary can be."""
    if isinstance(value, dict):
        return StructureKey((name, _as_key(each)) for name, each in value.items())
    return tuple(map(_as_key, value)) if isinstance(value, list) else value
