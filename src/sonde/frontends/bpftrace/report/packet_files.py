"""Files of packets that skboutput() writes: pcap, of packets that begin with IP."""

from __future__ import annotations

import os

from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.packet_files import PACKET_FILE, RAW_IP, FiledAt, filed_at
from sonde.model.records import CommandAction, Field, PacketAction
from sonde.model.spec import TracingSpec
from sonde.report.output import Output
from sonde.report.pcap import header, packet
from sonde.written_files import create


class PacketFiles:
    """All files of a program. They are made when tracing begins, also those that stay without packets."""

    def __init__(self, spec: TracingSpec) -> None:
        """Raises OSError, whose filename is the file's."""
        self._files: dict[str, Output] = {}
        self._next = FiledAt(0, "")
        for layout in spec.records:
            for action in layout.actions:
                if isinstance(action, CommandAction) and action.name == PACKET_FILE:
                    self._open(filed_at("".join(each.text for each in action.conversions)).path)

    def _open(self, path: str) -> None:
        if path not in self._files:
            self._files[path] = Output(self._created(path))
            self._files[path].write(header(RAW_IP))

    def _created(self, path: str) -> int:
        try:
            return create(path, os.O_TRUNC)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None

    def chooses(self, name: str, text: bytes) -> bool:
        """Whether a command, by its name and text, says where the next packet goes to."""
        if name == PACKET_FILE:
            self._next = filed_at(text.decode(errors="surrogateescape"))
        return name == PACKET_FILE

    def save(self, action: PacketAction, record: memoryview) -> None:
        """A packet of a whole record as the ring has it; nothing of one that ends before the offset. Raises OSError."""
        data = record[RING_HEADER:]
        time, length, captured, _, start = (_number(data, field) for field in action)
        if action.data.kind == "long_bytes":
            start &= 0xFFFF_FFFF
        else:
            start = action.data.offset
        offset, path = self._next
        if captured > offset:
            content = bytes(data[start + offset : start + captured])
            self._files[path].write(packet(time, length - offset, content))

    def flush(self) -> None:
        for each in self._files.values():
            each.flush()

    def close(self) -> None:
        for each in self._files.values():
            each.close()
            os.close(each.descriptor)
        self._files.clear()


def _number(data: memoryview, field: Field) -> int:
    return int.from_bytes(data[field.offset : field.offset + min(field.size, 8)], "little")
