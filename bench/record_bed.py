"""Maps, rings and programs for measuring how records are written, and what has been read and lost."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable

from record_programs import HEAD, LARGEST_PACKET

from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.engines.kernel import commands, perf_events
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.maps import KernelMap, create
from sonde.engines.kernel.perf_rings import PerfRings
from sonde.engines.kernel.ring import KernelRing
from sonde.engines.kernel.syscalls import address_of, bpf
from sonde.machine.system import possible_cpus
from sonde.model.spec import MapSpec

PAGE = os.sysconf("SC_PAGESIZE")
F_XDP_HAS_FRAGS = 1 << 5
_TEST_RUN = 10
_LOST = 24
"""Bytes of a PERF_RECORD_LOST without sample_id."""


class Bed:
    """One set of maps with a BPF ring buffer of `size` bytes and perf rings of as much for each CPU. A context
    manager: leaving it frees everything. `wakes_always`: each record in a perf ring wakes readers."""

    def __init__(self, size: int, wakes_always: bool = False, record: int = 2048) -> None:
        self.size = size
        cpus = possible_cpus()
        specs = (
            MapSpec("ring", maps.RINGBUF, 0, 0, size),
            MapSpec("rings", maps.PERF_EVENT_ARRAY, 4, 4, 1, by_cpu="any"),
            MapSpec("scratch", maps.PERCPU_ARRAY, 4, record, 1),
            MapSpec("packets", maps.ARRAY, 4, HEAD + LARGEST_PACKET + 8, 1, by_cpu="any"),
            MapSpec("results", maps.ARRAY, 4, 16, 1),
        )
        self.maps: dict[str, KernelMap] = {}
        for spec in specs:
            made = create(spec, cpus)
            assert isinstance(made, KernelMap)
            self.maps[spec.name] = made
        self.ring = KernelRing(self.maps["ring"].descriptor, size)
        self._perf = PerfRings(self.maps["rings"], size // PAGE, self._event(wakes_always))
        self.perf = self._perf.readers
        self._programs: list[int] = []

    def _event(self, wakes_always: bool) -> Callable[[int], int]:
        if wakes_always:
            return perf_events.open_output
        return lambda cpu: perf_events.open_on_cpu(perf_events.timed_output(self.size // 4), cpu)

    def __enter__(self) -> Bed:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._programs:
            os.close(descriptor)
        self.ring.close()
        self._perf.close()
        for each in self.maps.values():
            each.close()

    def load(self, text: str, kind: int = programs.RAW_TRACEPOINT) -> int:
        """The descriptor of a program; the bed's to close."""
        code, references = assemble(text)
        data = bytearray(encode(code))
        for index, name in references:
            struct.pack_into("=I", data, 8 * index + 4, self.maps[name].descriptor)
        flags = F_XDP_HAS_FRAGS if kind == programs.XDP else 0
        attach_type = programs.ATTACH_XDP if kind == programs.XDP else 0
        program = ProgramCode("measured", kind, attach_type, bytes(data), flags=flags)
        try:
            descriptor = commands.load_program(program)
        except OSError:
            log = bytearray(1 << 20)
            try:
                commands.load_program(program, log)
            except OSError as error:
                text = log.rstrip(b"\0").decode(errors="replace")[-3000:]
                raise SystemExit(f"the kernel refuses a program: {error}\n{text}") from None
            raise
        self._programs.append(descriptor)
        return descriptor

    def results(self) -> tuple[int, int]:
        """Nanoseconds of the last loop, and how many records found no room since the last call."""
        ((key, value),) = self.maps["results"].read()
        self.maps["results"].write(key, bytes(16))
        return struct.unpack("=QQ", value)

    def skip(self) -> int:
        """Empty the rings; how many bytes were in them."""
        data = self.ring.read()
        size = len(data)
        data.release()
        self.ring.advance(size)
        for reader in self.perf:
            size += reader.size
            reader.skip()
        return size

    def take(self) -> int:
        """Copy all out of the rings; how many bytes."""
        data = self.ring.read()
        size = len(bytes(data))
        data.release()
        self.ring.advance(size)
        for reader in self.perf:
            size += len(bytes(reader.unread()))
            reader.advance()
        return size


def read_while(bed: Bed, write: Callable[[], int], cpu: int, seconds: float) -> tuple[int, int]:
    """Empty a bed's rings while another process calls `write` on `cpu` again and again for so long: what its results
    add up to, and how many bytes came out."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.sched_setaffinity(0, {cpu})
        total, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            total += write()
        os.write(writer, struct.pack("=Q", total))
        os._exit(0)
    size = 0
    while not select.select([reader], [], [], 0)[0]:
        size += bed.take()
    (total,) = struct.unpack("=Q", os.read(reader, 8))
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    return total, size + bed.take()


def run_packet(program: int, packet: bytes, repeat: int) -> int:
    """Run a program for a packet so many times; nanoseconds of one run, as the kernel says. Raises OSError."""
    data, out = bytearray(packet), bytearray(len(packet) + 512)
    attributes = bytearray(80)
    struct.pack_into("=IIII", attributes, 0, program, 0, len(data), len(out))
    struct.pack_into("=QQII", attributes, 16, address_of(data), address_of(out), repeat, 0)
    bpf(_TEST_RUN, attributes)
    return int(struct.unpack_from("=I", attributes, 36)[0])


def notes(size: int, delivered: int, stride: int) -> int:
    """How many notes about losses are among `size` bytes with so many records of `stride` bytes; fails where the bytes
    cannot be those of these records."""
    rest = size - delivered * stride
    if rest < 0 or rest % _LOST:
        raise SystemExit(f"{size} bytes were read, which are not {delivered} records of {stride} bytes")
    return rest // _LOST
