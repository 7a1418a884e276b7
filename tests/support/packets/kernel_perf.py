"""A perf ring of the live kernel, filled by bpf_perf_event_output from programs that TEST_RUN runs on packets."""

import fcntl
import mmap
import os
import struct
from contextlib import contextmanager

from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.engines.kernel import commands
from sonde.engines.kernel.syscalls import address_of, bpf, perf_event_open
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader

_IOC_ENABLE, _IOC_ID = 0x2400, 0x80082407
_FLAG_CLOSE_ON_EXEC = 8
XDP_HAS_FRAGS = 1 << 5
DATA_SIZE = 4096

OUTPUT = """
    r6 = r1
    r1 = map[parameters][0]
    r3 = *(u64 *)(r1 +0)
    r5 = *(u64 *)(r1 +8)
    r0 = 0
    if r5 > 4096 goto out
    r1 = r6
    r2 = map[events]
    r4 = map[data][0]
    call bpf_perf_event_output
out:
    exit
"""
"""Outputs as many bytes of map `data` as `parameters` say, with their flags, and returns the helper's result."""


class KernelRing:
    """An event of type BPF output on `cpu` with a mapped ring of `pages`, in a perf event array."""

    def __init__(self, pages=1, cpu=0, **attributes):
        self.event = perf_event_open(_attributes(**attributes), -1, cpu, -1, _FLAG_CLOSE_ON_EXEC)
        fcntl.ioctl(self.event, _IOC_ENABLE, 0)
        self.memory = mmap.mmap(self.event, (1 + pages) * mmap.PAGESIZE)
        number = fcntl.ioctl(self.event, _IOC_ID, bytes(8))
        self.number = int.from_bytes(number, "little")
        self.array = commands.create_map("events", maps.PERF_EVENT_ARRAY, (4, 4, cpu + 1))
        commands.update_element(self.array, struct.pack("=I", cpu), struct.pack("=I", self.event))
        self.reader = PerfRingReader(memoryview(self.memory))

    def bytes(self):
        """The data pages, all of them."""
        return self.memory[mmap.PAGESIZE :]

    def close(self):
        self.reader.close()
        self.memory.close()
        os.close(self.array)
        os.close(self.event)


def _attributes(sample_type=perf.SAMPLE_RAW, sample_id_all=False, wakeup_events=0):
    attributes = bytearray(112)
    struct.pack_into("=IIQQQQQI", attributes, 0, perf.TYPE_SOFTWARE, 112, perf.SOFTWARE_BPF_OUTPUT, 0, sample_type, 0,
                     1 | sample_id_all << 18, wakeup_events)  # fmt: skip
    return attributes


class OutputProgram:
    """`OUTPUT` as a program of some type, with its maps."""

    def __init__(self, kind, ring, flags=0):
        self._parameters = commands.create_map("parameters", maps.ARRAY, (4, 16, 1))
        self._data = commands.create_map("data", maps.ARRAY, (4, DATA_SIZE, 1))
        commands.update_element(self._data, bytes(4), pattern(DATA_SIZE))
        self.descriptor = load(
            kind, OUTPUT, {"parameters": self._parameters, "data": self._data, "events": ring.array}, flags
        )

    def prepare(self, size, flags):
        """What its runs output: so many bytes, with these flags."""
        commands.update_element(self._parameters, bytes(4), struct.pack("=QQ", flags, size))

    def run(self, size, flags, packet):
        """Output `size` bytes; the helper's result."""
        self.prepare(size, flags)
        return run_on_packet(self.descriptor, packet)

    def close(self):
        for descriptor in (self.descriptor, self._data, self._parameters):
            os.close(descriptor)


def pattern(size):
    """Bytes that tell their place."""
    return bytes((i * 7 + i // 251) & 0xFF for i in range(size))


def load(kind, text, descriptors, flags=0):
    code, references = assemble(text)
    raw = bytearray(encode(code))
    for index, name in references:
        struct.pack_into("=I", raw, 8 * index + 4, descriptors[name])
    return commands.load_program(commands.ProgramCode("output", kind, 0, bytes(raw), flags=flags))


def run_on_packet(program, packet):
    """BPF_PROG_TEST_RUN; returns the signed 32-bit result."""
    data = bytearray(packet)
    attributes = bytearray(80)
    struct.pack_into("=II", attributes, 0, program, 0)
    struct.pack_into("=IIQ", attributes, 8, len(data), 0, address_of(data))
    struct.pack_into("=I", attributes, 32, 1)
    bpf(commands.PROG_TEST_RUN, attributes)
    return struct.unpack_from("=i", attributes, 4)[0]


@contextmanager
def output_from(kind=programs.XDP, pages=1, flags=None, **attributes):
    """(ring, program) on CPU 0, this process kept there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    ring = KernelRing(pages, **attributes)
    program = None
    try:
        program = OutputProgram(kind, ring, (XDP_HAS_FRAGS if kind == programs.XDP else 0) if flags is None else flags)
        yield ring, program
    finally:
        if program:
            program.close()
        ring.close()
        os.sched_setaffinity(0, before)
