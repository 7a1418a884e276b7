"""Makes rings, maps and sessions for tests of the consumer and the report, without an engine."""

from __future__ import annotations

import io
import os
import struct
import tempfile
from collections.abc import Callable, Sequence

from sonde.bpf.maps import ARRAY
from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.frontends.d.report.text import TextReport
from sonde.model.conversions import Conversion
from sonde.model.named_maps import SPECULATIONS
from sonde.model.probe import Internal, Probe
from sonde.model.records import Action, AggregationSpec, Field, RecordLayout
from sonde.model.spec import MapSpec, TracingSpec

BEGIN = Probe(1, "dtrace", "", "", "BEGIN", Internal("BEGIN"))
ERROR = Probe(3, "dtrace", "", "", "ERROR", Internal("ERROR"))
READ = Probe(7, "syscall", "vmlinux", "read", "entry", Internal(""))
READ_RETURN = Probe(8, "syscall", "vmlinux", "read", "return", Internal(""))
FUNCTION = Probe(9, "fbt", "vmlinux", "vfs_read", "entry", Internal(""))
FUNCTION_RETURN = Probe(10, "fbt", "vmlinux", "vfs_read", "return", Internal(""))
PROBES = (BEGIN, ERROR, READ, READ_RETURN, FUNCTION, FUNCTION_RETURN)


def record(clause: int, payload: bytes = b"", probe: int = 1, cpu: int = 0, speculation: int = 0) -> bytes:
    """A record as it stands in a ring."""
    body = struct.pack("<4I", clause, probe, cpu, speculation) + payload
    return struct.pack("<II", len(body), 0x11) + body + bytes(-len(body) % 8)


def discarded(size: int) -> bytes:
    return struct.pack("<II", size | 1 << 30, 0x11) + b"\xee" * ((size + 7) // 8 * 8)


def conversions(*parts: tuple[str, str]) -> tuple[Conversion, ...]:
    """(text, letters) pairs as conversions."""
    return tuple(Conversion(text, letters=letters) for text, letters in parts)


class FakeRing:
    def __init__(self) -> None:
        self.data = b""

    def read(self) -> memoryview:
        return memoryview(self.data)

    def advance(self, size: int) -> None:
        self.data = self.data[size:]

    unread = read


class FakeTracing:
    """Rings that tests fill, and maps of {raw key: value bytes}."""

    def __init__(self, rings: int = 1) -> None:
        self.rings: Sequence[FakeRing] = [FakeRing() for _ in range(rings)]
        self.maps: dict[str, dict[bytes, bytes]] = {}

    def feed(self, *records: bytes, ring: int = 0) -> None:
        self.rings[ring].data += b"".join(records)

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return list(self.maps.get(name, {}).items())

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return list(self.maps.pop(name, {}).items())

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        self.maps.setdefault(name, {})[key] = value

    def remove_from_map(self, name: str, key: bytes) -> None:
        self.maps.get(name, {}).pop(key, None)

    def adopt_descendants(self, pid: int) -> None:
        pass

    def heed(self, is_ending: Callable[[], bool]) -> None:
        pass

    def answer(self, asked: Callable[[], None]) -> None:
        pass

    def attach(self) -> None:
        pass

    def run(self, program: str) -> None:
        pass

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        return []

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        return []

    def close(self) -> None:
        pass


class Session:
    """A consumer with a text report whose output can be looked at."""

    def __init__(
        self,
        layouts: Sequence[tuple[int, int, tuple[Action, ...]]] = (),
        aggregations: Sequence[AggregationSpec] = (),
        strings: Sequence[bytes] = (),
        rings: int = 1,
        symbolizer=None,
        quiet: bool = False,
        testing: bool = False,
        options: Options | None = None,
        between: Callable[[], None] | None = None,
    ) -> None:
        self.spec = TracingSpec(
            (MapSpec(SPECULATIONS, ARRAY, 4, 8, 8),),
            (),
            tuple(RecordLayout(*layout, clause=layout[0]) for layout in layouts),
            tuple(aggregations),
            tuple(strings),
            PROBES,
        )
        self.tracing = FakeTracing(rings)
        self.options = options or Options()
        self.options.quiet = quiet
        self.options.testing = testing
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the session)
        self.errors = io.BytesIO()
        self.refused: dict[str, str] = {}
        self.set: list[tuple[str, str]] = []
        self.report = TextReport(
            self.spec, self.options, self.file.fileno(), self.errors, symbolizer=symbolizer, program="dtrace"
        )
        self.consumer = Consumer(
            self.spec, self.tracing, self.report, self.options, self._set_option, self.report.label, between=between
        )

    def _set_option(self, name: str, value: str) -> str | None:
        self.set.append((name, value))
        return self.refused.get(name)

    def poll(self, *records: bytes) -> str:
        """Feed the records, poll, return what has been printed since the last call."""
        self.tracing.feed(*records)
        self.consumer.poll()
        return self.printed()

    def finish(self) -> str:
        self.consumer.finish()
        return self.printed()

    def printed(self) -> str:
        size = os.fstat(self.file.fileno()).st_size
        data = os.pread(self.file.fileno(), size, 0)
        os.ftruncate(self.file.fileno(), 0)
        os.lseek(self.file.fileno(), 0, os.SEEK_SET)
        return data.decode("latin-1")


def integer(offset: int, size: int = 8, signed: bool = True) -> Field:
    return Field(offset, size, "int", signed)
