"""The embedded engine's BPF ring buffer, read by the kernel engine's reader, against a list of records."""

import struct
from errno import EAGAIN, EINVAL
from random import Random

import pytest
from support.bpf.embedded_world import World

from sonde.bpf import maps
from sonde.engines.kernel.ring import KernelRing
from sonde.runtime.maps.ring_buffer import FORCE_WAKEUP, NO_WAKEUP

SIZE = 4096
DISCARD = 1 << 30


@pytest.fixture
def world():
    world = World()
    yield world
    world.table.close()


@pytest.fixture
def ring(world):
    return world.map(maps.RINGBUF, 0, 0, SIZE)


@pytest.fixture
def reader(ring):
    reader = KernelRing(ring.descriptor, SIZE)
    yield reader
    reader.close()


def space(size):
    return size + 15 & -8


def records(view):
    """(payload, whether it was discarded) of each record in a view."""
    found, at = [], 0
    while at < len(view):
        word, page = struct.unpack_from("=II", view, at)
        length = word & ~DISCARD
        assert page >= 3
        found.append((bytes(view[at + 8 : at + 8 + length]), bool(word & DISCARD)))
        at += space(length)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_what_was_written_is_read_in_order(world, ring, reader, seed):
    """Reserved records stay open while others are written; the reader takes what it can in random steps."""
    random, written, unread, opened = Random(seed), [], 0, []
    for number in range(4000):
        match random.randrange(6):
            case 0 | 1:
                payload = number.to_bytes(4, "little") * random.randrange(60) + b"x" * random.randrange(9)
                fits = unread + space(len(payload)) < SIZE
                assert ring.output(payload, 0) == (0 if fits else -EAGAIN)
                if fits:
                    written.append((payload, False))
                    unread += space(len(payload))
            case 2 if len(opened) < 3:
                size = random.randrange(1, 700)
                address = ring.reserve(size)
                assert bool(address) == (unread + space(size) < SIZE)
                if address:
                    payload = bytes([number & 0xFF]) * size
                    world.memory.write(address, payload)
                    opened.append((len(written), address))
                    written.append((payload, None))
                    unread += space(size)
            case 3 if opened:
                index, address = opened.pop(random.randrange(len(opened)))
                discard = random.random() < 0.3
                ring.commit(address, 0, discard)
                written[index] = (written[index][0], discard)
            case 4 | 5:
                view = reader.read()
                first_open = next((n for n, (_, state) in enumerate(written) if state is None), len(written))
                assert records(view) == written[:first_open]
                taken = random.randrange(first_open + 1)
                size = sum(space(len(payload)) for payload, _ in written[:taken])
                reader.advance(size)
                del written[:taken]
                opened = [(index - taken, address) for index, address in opened]
                unread -= size
    assert ring.query(3) > 20 * SIZE


def test_a_ring_is_never_quite_full(ring):
    assert ring.reserve(SIZE - 8) == 0
    assert ring.reserve(SIZE - 16) != 0
    assert ring.reserve(0) == 0
    assert [ring.query(what) for what in range(5)] == [SIZE - 8, SIZE, 0, SIZE - 8, 0]


def test_sizes_and_flags_that_are_none_get_nothing(ring):
    assert ring.reserve(1 << 31) == 0
    assert ring.reserve(8, 1) == 0
    assert ring.output(b"12345678", 4) == -EINVAL
    assert ring.query(3) == 0


def test_an_open_record_blocks_later_ones_even_if_all_before_are_read(ring, reader):
    first = ring.reserve(8)
    assert ring.output(b"later---", 0) == 0
    assert len(reader.read()) == 0
    for _ in range(1 + (SIZE - 1 - 32) // 16):
        ring.output(b"12345678", 0)
    # The open record still has its place, so nothing fits.
    assert ring.output(b"12345678", 0) == -EAGAIN
    ring.commit(first, 0)
    assert records(reader.read())[1] == (b"later---", False)


@pytest.mark.parametrize(
    ("flags", "is_behind", "wakes"),
    [(0, False, True), (0, True, False), (NO_WAKEUP, False, False), (FORCE_WAKEUP, True, True)],
)
def test_the_consumer_is_woken_when_it_waits_for_that_record(ring, flags, is_behind, wakes):
    if is_behind:
        ring.output(b"unread", NO_WAKEUP)
    assert not ring.is_awake
    ring.output(b"a record", flags)
    assert ring.is_awake == wakes


def test_submitted_records_are_found_by_their_address(world, ring):
    other = world.map(maps.RINGBUF, 0, 0, SIZE)
    for made in (ring, other):
        record = world.call("ringbuf_reserve", made.handle, 16, 0)
        assert world.call("ringbuf_submit", record, 0) == 0
        assert world.call("ringbuf_discard", world.call("ringbuf_reserve", made.handle, 8, 0), 0) == 0
        assert world.call("ringbuf_query", made.handle, 0) == 24 + 16
        assert world.call("ringbuf_output", made.handle, world.place(b"12345678"), 8, 0) == 0
