"""Overflow handlers of the live kernel do what the embedded engine's do: one program in both."""

import fcntl
import mmap
import os
import struct
import time

import pytest
from support.bpf.bpf_interpreter import Interpreter
from support.bpf.helper_twins import OwnTask
from support.packets.kernel_perf import KernelRing, load

from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.engines.kernel import commands
from sonde.engines.kernel.perf_events import enable, set_program
from sonde.engines.kernel.syscalls import perf_event_open
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.formats.perf_samples import decode_sample
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.environment import Environment
from sonde.runtime.helpers.table import make_helpers
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.sample import Sample
from sonde.runtime.programs.loaded import RunnableProgram
from sonde.runtime.programs.overflow import Overflows
from sonde.runtime.verifier.verify import verify

_IOC_DISABLE = 0x2401
PERIOD = 200_000
WANTED = perf.SAMPLE_IP | perf.SAMPLE_TID | perf.SAMPLE_TIME | perf.SAMPLE_PERIOD | perf.SAMPLE_REGS_USER
AX_AND_IP = 1 | 1 << 8

EVERY_SECOND = """
    r2 = *(u64 *)(r1 +168)
    r3 = map[seen][0]
    *(u64 *)(r3 +8) = r2
    r0 = *(u64 *)(r3 +0)
    r0 += 1
    *(u64 *)(r3 +0) = r0
    r0 &= 1
    exit
"""
"""Counts, notes the period, and has every second sample written."""

WHERE = """
    r2 = *(u64 *)(r1 +128)
    r3 = *(u64 *)(r1 +136)
    *(u64 *)(r10 -16) = r2
    *(u64 *)(r10 -8) = r3
    r2 = map[events]
    w3 = -1
    r4 = r10
    r4 += -16
    r5 = 16
    call bpf_perf_event_output
    r0 = 0
    exit
"""
"""Outputs program counter and code segment."""

SEEN = MapSpec("seen", maps.ARRAY, 4, 16, 1)


def checked(reader, count):
    """The samples are those that the program let through, with its fields."""
    found = [decode_sample(record.body, WANTED, registers=2) for record in reader.read()]
    assert len(found) == (count + 1) // 2
    for sample in found:
        assert sample.fields["pid"] == sample.fields["tid"] == os.getpid()
        assert sample.fields["period"] == PERIOD
        assert len(sample.registers) == 2
    times = [sample.fields["time"] for sample in found]
    assert times == sorted(times)


def read_seen(descriptor):
    """How many samples there were, and the last one's period."""
    return struct.unpack("=QQ", commands.lookup_element(descriptor, bytes(4), 16))


@pytest.fixture
def clock():
    """A cpu-clock event of this process, and the memory of its ring."""
    attributes = bytearray(112)
    struct.pack_into("=IIQQQ", attributes, 0, perf.TYPE_SOFTWARE, 112, perf.SOFTWARE_CPU_CLOCK, PERIOD, WANTED)
    struct.pack_into("=Q", attributes, 40, 1)
    struct.pack_into("=Q", attributes, 80, AX_AND_IP)
    event = perf_event_open(attributes, 0, -1, -1, 8)
    memory = mmap.mmap(event, 65 * mmap.PAGESIZE)
    yield event, memory
    memory.close()
    os.close(event)


def test_the_kernels_handler_decides_what_the_one_reader_reads(clock):
    event, memory = clock
    seen = commands.create_map("seen", maps.ARRAY, (4, 16, 1))
    program = load(programs.PERF_EVENT, EVERY_SECOND, {"seen": seen})
    reader = PerfRingReader(memoryview(memory))
    try:
        set_program(event, program)
        with pytest.raises(FileExistsError):
            set_program(event, program)
        enable(event)
        while read_seen(seen)[0] < 101:
            time.sleep(0.001)
        fcntl.ioctl(event, _IOC_DISABLE, 0)
        count, period = read_seen(seen)
        assert period == PERIOD
        checked(reader, count)
    finally:
        reader.close()
        os.close(program)
        os.close(seen)


def test_the_embedded_handler_decides_alike():
    memory, table = MachineMemory(), MapTable()
    environment = Environment(memory, table, OwnTask())
    seen = create(SEEN, memory, table)
    code, references = assemble(EVERY_SECOND)
    spec = ProgramSpec("handler", programs.PERF_EVENT, 0, encode(code), references, ())
    verified = verify(spec, {"seen": SEEN})
    linked = link(spec._replace(code=encode(verified.code)), {"seen": seen}, lambda stamp: 0, environment.functions)
    execution = Interpreter(linked, memory, make_helpers([], environment), environment.functions)
    program = RunnableProgram(environment, programs.PERF_EVENT, execution)
    event = OpenPerfEvent(
        Attributes(config=perf.SOFTWARE_CPU_CLOCK, sample_period=PERIOD, sample_type=WANTED, sample_regs_user=AX_AND_IP)
    )
    reader = PerfRingReader(event.map(64))
    event.attach(program)
    with pytest.raises(FileExistsError):
        event.attach(program)
    overflows = Overflows(environment)
    for now in range(101):
        values = {"pid": os.getpid(), "tid": os.getpid(), "period": PERIOD, "time": now}
        overflows.overflow(event, Sample(values, registers=bytes(168)))
    assert struct.unpack("=QQ", seen.items()[0][1]) == (101, PERIOD)
    checked(reader, 101)


def where(record):
    """Whether a record says that it speaks of the process, whether its code segment does, and both counters."""
    sample = decode_sample(record.body, perf.SAMPLE_RAW | perf.SAMPLE_IP)
    counter, segment = struct.unpack_from("=QQ", sample.raw)
    return record.misc & 3, segment & 3, sample.fields["ip"], counter


def test_what_a_handler_outputs_speaks_of_what_was_interrupted(clock):
    event, _ = clock
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    ring = KernelRing(16, sample_type=perf.SAMPLE_RAW | perf.SAMPLE_IP)
    program = load(programs.PERF_EVENT, WHERE, {"events": ring.array})
    try:
        set_program(event, program)
        enable(event)
        found = []
        while not {perf.MISC_USER} <= {misc for misc, *_ in found}:
            found += [where(record) for record in ring.reader.read()]
            ring.reader.advance()
        fcntl.ioctl(event, _IOC_DISABLE, 0)
    finally:
        os.close(program)
        ring.close()
        os.sched_setaffinity(0, before)
    for misc, segment, ip, counter in found:
        assert misc == (perf.MISC_USER if segment else perf.MISC_KERNEL)
        assert ip == counter
