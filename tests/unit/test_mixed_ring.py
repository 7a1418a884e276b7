"""A BPF ring buffer and perf rings as one: nothing is lost, and what a CPU writes is read in its order, wherever it is
written and whatever other CPUs do meanwhile."""

import random
import struct

import pytest
from test_merged_rings import Writer, image, sample

from sonde.engines.kernel.mixed_ring import MixedRing
from sonde.engines.merged_ring import MergedRing
from sonde.formats.perf_ring import PerfRingReader

CPUS = 3
FAR = (1 << 32) - 400
"""Near where the lower half of a position begins anew."""


class Buffer:
    """A KernelRing, and its producers: records are reserved and committed in any order."""

    def __init__(self):
        self.position = self.produced = FAR
        self._records = []

    def reserve(self, body):
        record = [image(body), False]
        self._records.append(record)
        self.produced += len(record[0])
        return record

    def read(self):
        found = []
        for data, is_committed in self._records:
            if not is_committed:
                break
            found.append(data)
        return memoryview(b"".join(found))

    unread = read

    def advance(self, size):
        self.position += size
        while size:
            size -= len(self._records.pop(0)[0])

    @property
    def has_data(self):
        return self.produced != self.position


def bodies(data):
    """Who wrote each record, and which of his it is."""
    found, position = [], 0
    while position < len(data):
        (length,) = struct.unpack_from("=I", data, position)
        found.append(bytes(data[position + 8 : position + 24]))
        position += 8 + length
    return found


class Machine:
    """CPUs that write numbered records here and there, one step at a time."""

    def __init__(self, seed):
        self.chosen = random.Random(seed)
        self.buffer = Buffer()
        self.writers = [Writer() for _ in range(CPUS)]
        self.now = 0
        self.counts = [0] * CPUS
        self.under_way = [None] * CPUS
        self.ring = MixedRing(
            self.buffer, MergedRing([PerfRingReader(memoryview(w.memory)) for w in self.writers], self.settle)
        )
        self.seen = []
        self.places, self.positions = {}, {}

    def body(self, cpu):
        self.counts[cpu] += 1
        return struct.pack("=QQ", cpu, self.counts[cpu]) + bytes(self.chosen.choice([0, 0, 8, 24]))

    def step(self, cpu):
        """What a program does next: it takes a place and a time, then writes."""
        self.now += 1
        if self.under_way[cpu] is None:
            place, body = self.buffer.produced, self.body(cpu)
            if self.chosen.random() < 0.5:
                self.under_way[cpu] = self.buffer.reserve(body)
                self.positions[body[:16]] = self.buffer.produced
            else:
                self.under_way[cpu] = [place, None, body]
                self.places[body[:16]] = place
        elif isinstance(self.under_way[cpu][1], bool):
            self.under_way[cpu][1] = True
            self.under_way[cpu] = None
        elif self.under_way[cpu][1] is None:
            self.under_way[cpu][1] = self.now
        else:
            place, time, body = self.under_way[cpu]
            raw = bytearray(image(body))
            struct.pack_into("=I", raw, 4, place & 0xFFFFFFFF)
            if not self.writers[cpu].write(sample(time, bytes(raw))):
                self.counts[cpu] -= 1
            self.under_way[cpu] = None

    def settle(self):
        """Every CPU is seen not to write into its perf ring once, while all go on."""
        limit = self.now
        waited = {cpu for cpu in range(CPUS) if self.writes(cpu)}
        while waited:
            self.step(self.chosen.randrange(CPUS))
            waited = {cpu for cpu in waited if self.writes(cpu)}
        return limit

    def writes(self, cpu):
        return self.under_way[cpu] is not None and not isinstance(self.under_way[cpu][1], bool)

    def look(self):
        data = bytes(self.ring.read())
        for _ in range(self.chosen.randrange(40)):
            self.step(self.chosen.randrange(CPUS))
        there = sorted(bodies(self.ring.unread()))
        assert all(each in there for each in bodies(data))
        # Images that wait for what is in the ring buffer are there as well.
        assert sorted(bodies(self.ring.unread())) == there
        self.seen += bodies(data)
        self.ring.advance(len(data))


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(6))
def test_each_cpus_records_are_in_its_order_and_all_there(seed):
    machine = Machine(seed)
    for _ in range(4000):
        machine.step(machine.chosen.randrange(CPUS))
        if machine.chosen.random() < 0.02:
            machine.look()
    while any(each is not None for each in machine.under_way):
        for cpu in range(CPUS):
            if machine.under_way[cpu] is not None:
                machine.step(cpu)
    machine.now += 1
    machine.chosen.randrange = lambda most: 0
    machine.look()
    assert not machine.ring.has_data
    assert not len(machine.ring.unread())
    for cpu in range(CPUS):
        # A record that found no room gives its number to the next.
        own = [number for each, number in map(struct.Struct("=QQ").unpack, machine.seen) if each == cpu]
        assert own == list(range(1, machine.counts[cpu] + 1))
    # An image is behind all that was in the ring buffer when it was written, and what is there is in its order.
    positions = [machine.positions[each] for each in machine.seen if each in machine.positions]
    assert positions == sorted(positions)
    reached = FAR
    for each in machine.seen:
        assert machine.places.get(each, 0) <= reached
        reached = machine.positions.get(each, reached)
    assert machine.buffer.position > 1 << 32


def test_what_is_only_in_the_ring_buffer_is_not_copied():
    machine = Machine(0)
    machine.buffer.reserve(b"x" * 16)[1] = True
    view = machine.ring.read()
    assert bytes(view) == image(b"x" * 16)
    assert machine.ring.has_data
    machine.ring.advance(len(view))
    assert not machine.ring.has_data
