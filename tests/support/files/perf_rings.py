"""Rings, packets and readers that the tests of the perf side share."""

import errno

from sonde.arch.x86_64.pages import PAGE
from sonde.formats.perf_ring import PerfRingReader
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.sample import Sample


def event_with_ring(pages=1, **attributes):
    event = OpenPerfEvent(Attributes(**attributes), number=7)
    event.map(pages)
    return event


def reader_of(event):
    return PerfRingReader(event.ring.memory)


def moved_to(event, offset):
    """Fill and empty the ring until its next record begins at `offset`, a multiple of 8 and not 8."""
    reader = reader_of(event)
    writer = event.ring
    distance = (offset - writer.memory[:PAGE].cast("Q")[128]) % writer.size
    while distance:
        step = min(distance, writer.size // 2)
        slot = writer.begin(step, event, {})
        slot.copy(b"\x09\0\0\0\0\0" + step.to_bytes(2, "little"))
        slot.skip(step - 8)
        slot.end()
        reader.read()
        reader.advance()
        distance -= step
    return reader


def put(event, raw, **values):
    """Output a sample that must find room."""
    result = event.output(Sample(values, raw))
    assert result == 0, errno.errorcode[-result]
