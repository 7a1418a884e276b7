"""One reader for rings of the kernel and of the embedded engine, and the same bytes in both."""

import errno
import socket
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bpf.bpf_interpreter import Interpreter
from support.bpf.helper_twins import OwnTask
from support.packets.kernel_perf import DATA_SIZE, OUTPUT, output_from, pattern
from support.suite.example_counts import count_of

from sonde.arch.x86_64.pages import PAGE
from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import encode
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.formats.perf_samples import decode_lost, decode_sample
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.environment import Environment
from sonde.runtime.helpers.table import make_helpers
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.packet_pieces import SkbPacket, XdpPacket
from sonde.runtime.programs.loaded import RunnableProgram

pytestmark = pytest.mark.examples

EXAMPLES = count_of(40)

CURRENT_CPU = 0xFFFFFFFF
_SO_ATTACH_BPF = 50
XDP_LINEAR = 3520
"""Bytes of a TEST_RUN packet in the buffer: a page without headroom and skb_shared_info; the rest is in fragments."""


class Embedded:
    """The embedded engine's ring beside a kernel's, with the same number and attributes, filled by the same program."""

    def __init__(self, number, pages, attributes, kind=programs.XDP):
        self.event = OpenPerfEvent(Attributes(**attributes), number)
        self.reader = PerfRingReader(self.event.map(pages))
        memory, table = MachineMemory(), MapTable()
        self.environment = Environment(memory, table, OwnTask())
        specs = (
            MapSpec("events", maps.PERF_EVENT_ARRAY, 4, 4, 1), MapSpec("parameters", maps.ARRAY, 4, 16, 1),
            MapSpec("data", maps.ARRAY, 4, DATA_SIZE, 1),
        )  # fmt: skip
        self.maps = {each.name: create(each, memory, table) for each in specs}
        self.maps["events"].set(0, self.event)
        self.maps["data"].update(bytes(4), pattern(DATA_SIZE))
        code, references = assemble(OUTPUT)
        spec = ProgramSpec("output", kind, 0, encode(code), references, ())
        linked = link(spec, self.maps, lambda stamp: 0, self.environment.functions)
        helpers = make_helpers([NUMBERS["perf_event_output"]], self.environment)
        execution = Interpreter(linked, memory, helpers, self.environment.functions)
        self.program = RunnableProgram(self.environment, kind, execution)

    def run(self, size, flags, packet):
        self.maps["parameters"].update(bytes(4), struct.pack("=QQ", flags, size))
        self.environment.packet = packet
        (result,) = struct.unpack("=i", struct.pack("=I", self.program.run(0) & 0xFFFFFFFF))
        return result

    def bytes(self):
        return bytes(self.event.ring.memory[PAGE:])


def packet_of(kind, data):
    view = memoryview(data)
    if kind == programs.XDP:
        rest = view[XDP_LINEAR:]
        return XdpPacket(view[:XDP_LINEAR], tuple(rest[i : i + PAGE] for i in range(0, len(rest), PAGE)))
    return SkbPacket(view[:40], (view[40:77], view[77:]))


def summary(reader, sample_type=perf.SAMPLE_RAW, id_all=0):
    records = []
    for record in reader.read():
        if record.type == perf.RECORD_LOST:
            records.append(decode_lost(record.body, id_all))
        else:
            sample = decode_sample(record.body, sample_type)
            records.append((record.type, record.misc, sample.fields, bytes(sample.raw)))
    reader.advance()
    return records


SIZES = st.integers(0, 300) | st.integers(0, DATA_SIZE)
STEPS = st.lists(st.tuples(SIZES, st.integers(0, 700), st.sampled_from([False, False, True])), max_size=40)
SAMPLE_TYPES = st.sampled_from(
    [perf.SAMPLE_RAW, perf.SAMPLE_RAW | perf.SAMPLE_TID | perf.SAMPLE_CPU, perf.SUPPORTED & 0x106C2 | perf.SAMPLE_ADDR]
)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([programs.XDP, programs.SCHED_CLS]), SAMPLE_TYPES, st.booleans(), STEPS)
def test_the_same_outputs_make_the_same_ring_byte_by_byte(kind, sample_type, id_all, steps):
    """Samples, losses reported later, wrapping around: results of the helper, positions and all bytes are equal."""
    attributes = {"sample_type": sample_type, "sample_id_all": id_all}
    data = pattern(500)
    with output_from(kind, **attributes) as (ring, program):
        embedded = Embedded(ring.number, 1, attributes, kind)
        packet = packet_of(kind, data)
        for size, length, drain in steps:
            flags = CURRENT_CPU | length << 32
            assert program.run(size, flags, data) == embedded.run(size, flags, packet)
            if drain:
                told = sample_type if id_all else 0
                assert summary(ring.reader, sample_type, told) == summary(embedded.reader, sample_type, told)
        assert embedded.bytes() == ring.bytes()
        ours, theirs = embedded.event.ring.memory, ring.memory
        assert ours[1024:1056] == theirs[1024:1056], "data_head, data_tail, data_offset, data_size"


@pytest.mark.parametrize("kind", [programs.XDP, programs.SCHED_CLS], ids=["xdp", "sched_cls"])
@pytest.mark.parametrize("length", [0, 1, 13, 3519, 3520, 3521, 7616, 9000])
def test_packet_bytes_are_appended_from_all_pieces(kind, length):
    data = pattern(9000 if kind == programs.XDP else 3000)
    length = min(length, len(data))
    with output_from(kind, pages=16) as (ring, program):
        embedded = Embedded(ring.number, 16, {}, kind)
        flags = CURRENT_CPU | length << 32
        assert program.run(24, flags, data) == embedded.run(24, flags, packet_of(kind, data)) == 0
        assert embedded.bytes() == ring.bytes()
        (found,) = summary(ring.reader)
        assert found[3][: 24 + length] == pattern(DATA_SIZE)[:24] + data[:length]


@pytest.mark.parametrize(
    "flags",
    [CURRENT_CPU | 501 << 32, CURRENT_CPU | 0xFFFFF << 32, CURRENT_CPU | 1 << 52, 1 << 63, 1, 0x7FFFFFFF, 0],
    ids=hex,
)
def test_bad_flags_fail_alike(flags):
    data = pattern(500)
    with output_from() as (ring, program):
        embedded = Embedded(ring.number, 1, {})
        result = program.run(8, flags, data)
        assert result == embedded.run(8, flags, packet_of(programs.XDP, data))
        assert (result == 0) == (flags == 0)


def test_a_program_without_a_packet_may_not_ask_for_its_bytes():
    embedded = Embedded(1, 1, {}, programs.RAW_TRACEPOINT)
    assert embedded.run(8, CURRENT_CPU | 1 << 32, None) == -errno.EINVAL
    assert embedded.run(8, CURRENT_CPU, None) == 0


LINEAR = 15000
"""A datagram of a local socket has about as much in its head, and what is beyond in pages (SKB_MAX_ALLOC)."""


@pytest.mark.parametrize("size", [200, LINEAR, 40_000, 65_000])
def test_a_packet_in_head_and_pages_comes_whole_and_in_one_copy(size):
    """A socket filter sees a datagram before it is received; of a long one, direct access would reach a part."""
    data = pattern(size)
    with output_from(programs.SOCKET_FILTER, pages=32, flags=0) as (ring, program):
        embedded = Embedded(ring.number, 32, {}, programs.SOCKET_FILTER)
        flags = CURRENT_CPU | size << 32
        program.prepare(24, flags)
        sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with sender, receiver:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            receiver.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_BPF, program.descriptor)
            sender.send(data)
        view = memoryview(data)
        pages = tuple(view[at : at + PAGE] for at in range(LINEAR, size, PAGE))
        assert embedded.run(24, flags, SkbPacket(view[:LINEAR], pages)) == 0
        (found,) = summary(ring.reader)
        assert found[3][: 24 + size] == pattern(DATA_SIZE)[:24] + data
        assert embedded.bytes() == ring.bytes()
