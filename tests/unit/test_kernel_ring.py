"""Reading a ring whose memory the test writes as the kernel would."""

import os
import struct
from mmap import PAGESIZE

import pytest

from sonde.engines.kernel.ring import KernelRing

SIZE = 4096
BUSY, DISCARD = 1 << 31, 1 << 30


class FakeKernel:
    """The memory of a ring buffer in a file, with its data written twice."""

    def __init__(self):
        self.descriptor = os.memfd_create("ring")
        os.ftruncate(self.descriptor, 2 * PAGESIZE + 2 * SIZE)
        self.produced = 0

    def start_at(self, position):
        self.produced = position
        os.pwrite(self.descriptor, struct.pack("=Q", position), 0)

    def word(self, offset):
        return struct.unpack("=Q", os.pread(self.descriptor, 8, offset))[0]

    def produce(self, payload, flags=0):
        record = struct.pack("=II", len(payload) | flags, 0) + payload + bytes(-len(payload) % 8)
        for at, byte in enumerate(record, self.produced):
            for copy in (0, SIZE):
                os.pwrite(self.descriptor, bytes([byte]), 2 * PAGESIZE + copy + at % SIZE)
        self.produced += len(record)
        os.pwrite(self.descriptor, struct.pack("=Q", self.produced), PAGESIZE)
        return len(record)

    def note_committed(self, position):
        os.pwrite(self.descriptor, struct.pack("=Q", position), PAGESIZE + 8)


@pytest.fixture
def kernel():
    kernel = FakeKernel()
    yield kernel
    os.close(kernel.descriptor)


def payloads(view):
    found, at = [], 0
    while at < len(view):
        (length,) = struct.unpack_from("=I", view, at)
        length &= ~DISCARD
        found.append(bytes(view[at + 8 : at + 8 + length]))
        at += length + 15 & ~7
    return found


def test_an_empty_ring_has_nothing(kernel):
    ring = KernelRing(kernel.descriptor, SIZE)
    assert len(ring.read()) == 0
    ring.close()


@pytest.mark.parametrize("start", [0, SIZE - 24, 7 * SIZE - 8])
def test_records_are_read_in_one_piece_whereever_they_lie(kernel, start):
    kernel.start_at(start)
    size = kernel.produce(b"one") + kernel.produce(b"discarded", DISCARD) + kernel.produce(b"fourteen bytes")
    ring = KernelRing(kernel.descriptor, SIZE)
    view = ring.read()
    assert payloads(view) == [b"one", b"discarded", b"fourteen bytes"]
    ring.advance(len(view))
    assert kernel.word(0) == start + size
    assert len(ring.read()) == 0
    ring.close()


@pytest.mark.parametrize("noted", [0, 16, 32])
def test_reading_stops_at_a_record_still_being_written(kernel, noted):
    kernel.produce(b"12345678")
    kernel.produce(b"12345678")
    kernel.produce(b"not done", BUSY)
    kernel.produce(b"done")
    kernel.note_committed(noted)
    ring = KernelRing(kernel.descriptor, SIZE)
    assert payloads(ring.read()) == [b"12345678"] * 2
    ring.close()


def test_a_note_of_an_older_position_is_ignored(kernel):
    kernel.start_at(64)
    kernel.produce(b"12345678")
    kernel.note_committed(48)
    ring = KernelRing(kernel.descriptor, SIZE)
    assert payloads(ring.read()) == [b"12345678"]
    ring.close()


def test_closing_with_a_view_in_use(kernel):
    kernel.produce(b"12345678")
    ring = KernelRing(kernel.descriptor, SIZE)
    view = ring.read()
    ring.close()
    assert payloads(view) == [b"12345678"]
