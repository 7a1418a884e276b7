"""The sink of a session that writes the packets it captures to a file; all else it shows is passed on."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from operator import add

from sonde import __version__
from sonde.captures.columns import PROBE_WORD, by_column, is_all
from sonde.captures.file import CaptureFile
from sonde.captures.interfaces import PCAP, Interfaces, is_of_device
from sonde.captures.rows import BlockMaker
from sonde.captures.values import capture_of, description, has_packet, options_of, shown_after, values_of
from sonde.consume.events import Drop, Fault, Record, ShownMap, Table
from sonde.consume.sink import Report, Sink, Texts
from sonde.formats import pcapng
from sonde.formats.bpf_ring import RING_HEADER
from sonde.formats.damage import DamagedError
from sonde.machine.devices import link_type
from sonde.model.conversions import Conversion
from sonde.model.records import Action, CaptureAction, PacketAction, RecordLayout
from sonde.model.spec import TracingSpec

_AT_ONCE = 2048
"""Records made into blocks at a time: so many, with their blocks, are in a processor's cache while that goes on."""


def _header(spec: TracingSpec) -> bytes:
    system = os.uname()
    name = f"{system.sysname} {system.release}"
    return pcapng.section_header(system.machine, name, f"sonde {__version__}", description(spec))


class Captures(Sink):
    """Records of clauses that capture become packets of `file`, with the values that stand before capture();
    everything else goes to `report`. Nothing of a packet is shown there. `is_live`: what is captured is captured now.
    """

    def __init__(self, spec: TracingSpec, report: Report, file: CaptureFile, is_live: bool = True) -> None:
        self.title = report.title
        self._report = report
        self._file = file
        self._captures = {each.number: capture for each in spec.records if (capture := capture_of(each))}
        self._values = {each.number: values_of(each) for each in spec.records}
        self._shown = {each.number: shown_after(each) if has_packet(each) else each for each in spec.records}
        self._others = {each.number for each in spec.records if has_packet(each)}.difference(self._captures)
        self._interfaces = Interfaces(spec.probes, file.write, link_type)
        self._rows: dict[tuple[int, int], BlockMaker] = {}
        self._texts: dict[tuple[int, int], Texts] = {}
        self._started = time.time_ns() if is_live else None
        self._latest = 0
        self._delivered: dict[int, int] = {}
        file.write(_header(spec))
        served = {probe.id: probe for program in spec.programs for probe, _ in program.probes}
        for probe in filter(is_of_device, served.values()):
            # Its interface is described although it may have no packets.
            self._interfaces[probe.id]
        file.flush()

    # Packets

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        if layout.number in self._captures:
            for at in range(0, len(data), stride * _AT_ONCE):
                self._write(layout, data[at : at + stride * _AT_ONCE], stride)
        shown = self._shown[layout.number]
        if shown is not None:
            self._report.run(shown, data, stride)

    def _require_whole(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        """Raises DamagedError if a packet does not end within its record, as in a file it may."""
        words, step = data.cast("I"), stride // 4
        place = (RING_HEADER + self._captures[layout.number].data.offset) // 4
        begins, sizes = words[place::step].tolist(), words[place + 1 :: step].tolist()
        if any(map((stride - RING_HEADER).__lt__, map(add, begins, sizes))):
            raise DamagedError("it is damaged: a packet is longer than the record it is in")

    def _write(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        if self._started is None:
            self._require_whole(layout, data, stride)
        probes = data.cast("I")[PROBE_WORD :: stride // 4]
        if is_all(probes, probes[0]):
            self._count(probes[0], len(probes))
        else:
            for probe in probes.tolist():
                self._count(probe, 1)
        time_at = len(data) - stride + RING_HEADER + self._captures[layout.number].time.offset
        self._latest = int.from_bytes(data[time_at : time_at + 8], "little")
        self._file.write(self._blocks(layout, data, stride), len(probes))

    def _count(self, probe: int, packets: int) -> None:
        interface = self._interfaces[probe].interface
        self._delivered[interface] = self._delivered.get(interface, 0) + packets

    def _blocks(self, layout: RecordLayout, data: memoryview, stride: int) -> bytes | bytearray:
        capture, values = self._captures[layout.number], self._values[layout.number]
        identity = layout.number, stride
        texts: list[bytes] | None = None
        if values:
            if identity not in self._texts:
                self._texts[identity] = self._report.texts(values, stride)
            texts = [text.strip() for text in self._texts[identity](data)]
        blocks = by_column(data, stride, capture, self._interfaces, texts)
        if blocks is not None:
            return blocks
        if identity not in self._rows:
            self._rows[identity] = BlockMaker(capture, stride, self._interfaces)
        return self._rows[identity].blocks(data, texts)

    # Records that do more than capture

    def _is_filed(self, record: Record) -> bool:
        """Whether the packets of a record go to the file: those of pcap() may have one of their own, of freopen()."""
        number = record.layout.number
        return number in self._captures or (number in self._others and not self._report.is_switched)

    def begin(self, record: Record) -> None:
        if not self._is_filed(record) or self._shown[record.layout.number] is not None:
            self._report.begin(record)

    def action(self, record: Record, action: Action) -> None:
        is_filed = self._is_filed(record)
        if isinstance(action, CaptureAction):
            self._write(record.layout, record.data, len(record.data))
        elif is_filed and isinstance(action, PacketAction):
            self._save(record, action)
        elif not is_filed or action not in self._values[record.layout.number]:
            self._report.action(record, action)

    def _save(self, record: Record, action: PacketAction) -> None:
        """A packet of pcap(), of whose device nothing is known unless the probe is of one."""
        data, values = record.data[RING_HEADER:], self._values[record.layout.number]
        moment, length, captured, link = (
            int.from_bytes(data[field.offset : field.offset + field.size], "little") for field in action[:4]
        )
        begin = action.data.offset
        if action.data.kind == "long_bytes":
            begin = int.from_bytes(data[begin : begin + 4], "little")
        is_known = is_of_device(record.probe)
        place = self._interfaces[record.probe.id] if is_known else self._interfaces.of_kind(link)
        comment = self._report.texts(values, len(record.data))(record.data)[0].strip() if values else b""
        options = pcapng.options(options_of(place, comment, data[:begin] if values else None))
        packet = bytes(data[begin : begin + captured])
        self._latest = moment
        self._delivered[place.interface] = self._delivered.get(place.interface, 0) + 1
        self._file.write(pcapng.enhanced_packet(place.interface, moment, length, packet, options), 1)

    def end(self, record: Record) -> None:
        if not self._is_filed(record) or self._shown[record.layout.number] is not None:
            self._report.end(record)

    # All else

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        self._report.table(table, conversions)

    def show(self, shown: ShownMap) -> None:
        self._report.show(shown)

    def refusal(self, record: Record, reason: str) -> None:
        self._report.refusal(record, reason)

    def fault(self, fault: Fault) -> None:
        self._report.fault(fault)

    def drop(self, drop: Drop) -> None:
        self._report.drop(drop)

    def remaining(self, tables: Sequence[Table]) -> None:
        self._report.remaining(tables)

    def flush(self) -> None:
        self._report.flush()
        self._file.flush()

    @property
    def has_failed(self) -> bool:
        """Whether the file takes no more."""
        return bool(self._file.failure)

    def finish(self, losses: Mapping[int, int] | None) -> None:
        """Tracing is over: write down what was captured at each interface, and what was lost, by probe (None if that is
        not known)."""
        ended = time.time_ns() if self._started is not None else self._latest
        dropped: dict[int, int] = {}
        for probe, count in (losses or {}).items():
            if not self._interfaces.is_of_device(probe):
                continue
            interface = self._interfaces[probe].interface
            dropped[interface] = dropped.get(interface, 0) + count
        for interface, name in enumerate(self._interfaces.names):
            lost = None if losses is None or name == PCAP else dropped.get(interface, 0)
            statistics = pcapng.Statistics(self._started, ended, self._delivered.get(interface, 0), lost)
            self._file.write(pcapng.interface_statistics(interface, statistics))
        self._file.flush()
