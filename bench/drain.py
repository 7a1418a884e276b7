"""How fast records are drained: synthetic ring -> consumer -> text report -> /dev/null or a file, on one core.

Usage: python bench/drain.py [records] [output file]
"""

from __future__ import annotations

import os
import struct
import sys
import time

from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.frontends.d.report.text import TextReport
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.records import Field, PrintfAction, RecordLayout, TraceAction
from sonde.model.spec import TracingSpec

PRINTF = PrintfAction(
    (
        Conversion("", letters="d"),
        Conversion(" ", letters="s"),
        Conversion(" ", letters="lld"),
        Conversion(" ", letters="x"),
        Conversion("\n"),
    ),
    (
        Field(16, 4, "int", True),
        Field(20, 16, "string"),
        Field(40, 8, "int", True),
        Field(48, 8, "int", False),
    ),
)
LAYOUT = RecordLayout(1, 56, (PRINTF,))
OTHER = RecordLayout(2, 24, (TraceAction(Field(16, 8, "int", True)),))
SPEC = TracingSpec((), (), (LAYOUT, OTHER), (), (), (Probe(7, "syscall", "vmlinux", "read", "entry", Internal("")),))


class SyntheticRing:
    """Always full of the same records."""

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)

    def read(self) -> memoryview:
        return self.data

    def advance(self, size: int) -> None:
        pass


class SyntheticTracing:
    def __init__(self, data: bytes) -> None:
        self.rings = [SyntheticRing(data)]

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return []


def record(number: int) -> bytes:
    names = (b"bash", b"systemd-journal", b"kworker/0:1")
    body = struct.pack("<4Ii16s4xqQ", 1, 7, number % 2, 0, number, names[number % 3], number * 1000, 0xFFFF00 + number)
    return struct.pack("<II", len(body), 3) + body


def other(number: int) -> bytes:
    body = struct.pack("<4Iq", 2, 7, 0, 0, number)
    return struct.pack("<II", len(body), 3) + body


def measure(title: str, data: bytes, records: int, total: int, quiet: bool, path: str) -> None:
    options = Options()
    options.quiet = quiet
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    report = TextReport(SPEC, options, descriptor)
    consumer = Consumer(SPEC, SyntheticTracing(data), report, options, lambda name, value: None)
    consumer.poll()
    rounds = max(total // records, 1)
    start = time.process_time()
    for _ in range(rounds):
        consumer.poll()
    elapsed = time.process_time() - start
    os.close(descriptor)
    print(f"{title:34} {records * rounds / elapsed / 1e6:6.2f} M records/s")


def main() -> None:
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    path = sys.argv[2] if len(sys.argv) > 2 else os.devnull
    uniform = b"".join(map(record, range(50_000)))
    measure("uniform run, quiet", uniform, 50_000, total, True, path)
    measure("uniform run, columns", uniform, 50_000, total, False, path)
    mixed = b"".join(record(number) + other(number) for number in range(25_000))
    measure("two clauses in turn, quiet", mixed, 50_000, total, True, path)
    small = b"".join(map(record, range(50)))
    measure("50 records a wake-up, quiet", small, 50, total, True, path)


if __name__ == "__main__":
    main()
