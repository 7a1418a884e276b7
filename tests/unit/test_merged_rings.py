"""Perf rings of several CPUs as one: all records, in the order of their times, and none before it is its turn."""

import random
import struct

import pytest

from sonde.engines.merged_ring import MergedRing
from sonde.formats import perf_events as perf
from sonde.formats.perf_records import runs
from sonde.formats.perf_ring import PerfRingReader

PAGE = 4096


class Writer:
    """The kernel's side of a perf ring of one page of data, as perf_output_begin and perf_output_sample fill it."""

    def __init__(self):
        self.memory = bytearray(2 * PAGE)
        self._words = memoryview(self.memory).cast("Q")
        self._words[perf.PAGE_DATA_OFFSET >> 3] = self._words[perf.PAGE_DATA_SIZE >> 3] = PAGE

    def write(self, record):
        """False if there is no room."""
        head, tail = (self._words[at >> 3] for at in (perf.PAGE_DATA_HEAD, perf.PAGE_DATA_TAIL))
        if head + len(record) - tail > PAGE:
            return False
        for offset, byte in enumerate(record):
            self.memory[PAGE + (head + offset) % PAGE] = byte
        self._words[perf.PAGE_DATA_HEAD >> 3] = head + len(record)
        return True


def image(record):
    return struct.pack("=II", len(record), 0) + record + bytes(-len(record) % 8)


def sample(time, raw):
    """The raw size counts the padding behind it."""
    padding = -(4 + len(raw)) % 8
    body = struct.pack("=QI", time, len(raw) + padding) + raw + bytes(padding)
    return struct.pack("=IHH", perf.RECORD_SAMPLE, 0, 8 + len(body)) + body


def lost(count):
    return struct.pack("=IHHQQ", perf.RECORD_LOST, 0, 24, 1, count)


@pytest.mark.parametrize("sizes", [(24,), (24, 32), (16, 17, 23, 24, 25), (500, 16)])
def test_images_are_those_of_the_samples(sizes):
    chosen = random.Random(len(sizes))
    raws = [image(chosen.randbytes(chosen.choice(sizes))) for _ in range(300)]
    written = b"".join(sample(time, raw) + (lost(3) if time % 50 == 7 else b"") for time, raw in enumerate(raws))
    found = list(runs(memoryview(written)))
    assert [each for run in found for each in run.records()] == list(enumerate(raws))
    assert b"".join(piece for run in found for piece in run.images()) == b"".join(raws)


@pytest.mark.parametrize("size", [16, 17, 20, 21, 24, 101, 1500])
def test_images_of_many_samples_alike_are_copied_at_once(size):
    """Also where the kernel's padding ends half a word before the image's."""
    raws = [image(bytes([number & 255]) * size) for number in range(300)]
    raws = [raw[: 8 + size] for raw in raws]
    found = list(runs(memoryview(b"".join(sample(time, raw) for time, raw in enumerate(raws)))))
    assert len(found) < 10
    padded = b"".join(raw.ljust(8 + size + 7 & -8, b"\0") for raw in raws)
    assert b"".join(piece for run in found for piece in run.images()) == padded
    assert b"".join(raw for run in found for _, raw in run.records()) == padded


def test_bytes_that_the_kernel_appended_are_the_record_s_end():
    """The image then is longer than what the program wrote, and what pads it is the kernel's."""
    raws = [struct.pack("=II", 16 + length, 0) + bytes(16) + b"p" * length for length in range(40)]
    data = memoryview(b"".join(sample(1, raw) for raw in raws))
    found = [raw for run in runs(data) for _, raw in run.records()]
    assert [raw.rstrip(b"\0") for raw in found] == [raw.rstrip(b"\0") for raw in raws]
    assert all(len(new) % 8 == 0 and 0 <= len(new) - len(old) < 8 for new, old in zip(found, raws, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_records_are_in_the_order_of_their_times(seed):
    """Writers are at random moments between the time that a record takes and its place in the ring."""
    chosen = random.Random(seed)
    writers = [Writer() for _ in range(3)]
    now, taken = 0, {}

    def settle():
        """All that were about to be written are, and then it is as late as at the beginning."""
        limit = now
        for number in list(taken):
            put(number)
        # What begins meanwhile is later.
        begin(chosen.randrange(3))
        put(next(iter(taken)))
        return limit

    def begin(number):
        nonlocal now
        if number not in taken:
            now += 1
            taken[number] = now

    def put(number):
        time = taken.pop(number)
        if writers[number].write(sample(time, image(struct.pack("=QQ", time, number) * chosen.choice([1, 1, 1, 5])))):
            written.append(time)

    written, seen = [], []
    ring = MergedRing([PerfRingReader(memoryview(writer.memory)) for writer in writers], settle)
    for _ in range(3000):
        number = chosen.randrange(3)
        if number in taken:
            put(number)
        else:
            begin(number)
        if chosen.random() < 0.03:
            data = bytes(ring.read())
            position = 0
            while position < len(data):
                length, _, time = struct.unpack_from("=IIQ", data, position)
                seen.append(time)
                position += 8 + length
            ring.advance(len(data))
    assert seen == sorted(seen)
    assert len(seen) > 500
    assert seen == sorted(written)[: len(seen)]


def test_a_long_run_is_cut_where_another_cpu_s_records_come_and_at_the_limit():
    writers = [Writer(), Writer()]
    times = [*range(0, 60, 2), 100, 101], [31, 99]
    for writer, written in zip(writers, times, strict=True):
        for time in written:
            writer.write(sample(time, image(struct.pack("=Q", time))))
    limit = 99
    ring = MergedRing([PerfRingReader(memoryview(writer.memory)) for writer in writers], lambda: limit)
    expected = sorted(times[0] + times[1])
    assert bytes(ring.read()) == b"".join(image(struct.pack("=Q", time)) for time in expected if time <= 99)
    ring.advance(len(ring.read()))
    limit = 200
    assert bytes(ring.read()) == b"".join(image(struct.pack("=Q", time)) for time in expected if time > 99)


def test_records_that_are_later_than_their_place_are_put_in_order():
    """A program that interrupts another between the time of its record and its place in the ring."""
    writers = [Writer(), Writer()]
    for time in (1, 5, 3, 9, 7):
        writers[0].write(sample(time, image(struct.pack("=Q", time))))
    limit = 4
    ring = MergedRing([PerfRingReader(memoryview(writer.memory)) for writer in writers], lambda: limit)
    seen = bytes(ring.read())
    ring.advance(len(seen))
    limit = 10
    assert seen + bytes(ring.read()) == b"".join(image(struct.pack("=Q", time)) for time in (1, 3, 5, 7, 9))
    assert len(seen) == 2 * 16


def test_what_was_not_taken_stays():
    writer = Writer()
    ring = MergedRing([PerfRingReader(memoryview(writer.memory))], lambda: 0)
    assert not ring.has_data
    writer.write(sample(1, image(b"a" * 8)))
    writer.write(sample(2, image(b"b" * 8)))
    assert ring.has_data
    assert bytes(ring.read()) == image(b"a" * 8) + image(b"b" * 8)
    ring.advance(16)
    assert ring.has_data
    assert bytes(ring.read()) == image(b"b" * 8)
    ring.advance(16)
    assert not ring.has_data
