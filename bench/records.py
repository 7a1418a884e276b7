"""The ways to write a record: what each costs, loses and needs, for records and for packets.

    python bench/records.py [--batches N] [--seconds N] [--json FILE] [--page]

Needs root, two CPUs and a C compiler. All rows of a table are measured by turns in one run. --page writes
docs/records-cost.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import embedded_records
import record_page
import record_programs as ways
import throughput
from common import SONDE, Table, median, ratio, show, workload
from record_bed import Bed, notes, read_while, run_packet

from sonde.bpf import programs
from sonde.engines.kernel import commands
from sonde.engines.merged_ring import MergedRing
from sonde.machine.system import online_cpus

RING = 4 << 20
PACKET_RING = 16 << 20
MEMORY = 1 << 20
SIZES = (16, 64, 256, 1024)
PACKETS = (64, 256, 1500, 9000, 65000)
FRAMES = (64, 256, 1500)
SNAP = 1536
"""The longest packet for which room is reserved where not all packets are to fit."""

SESSIONS = 3
RUNS_A_BATCH = 64
RUNS_WITHOUT_PAUSE = 20_000
"""So many in one system call: each puts an XDP program in and takes it out, which waits for a grace period."""


class Way(NamedTuple):
    """How a record of a size is written; `overhead` is what it takes of a ring besides."""

    name: str
    text: Callable[[int], str]
    overhead: int
    wakes_always: bool = False


RESERVE = Way("ring buffer: reserve, fill, submit", ways.reserve, 8)
RECORDS = (
    RESERVE,
    Way("ring buffer: fill, output", ways.ringbuf_output, 8),
    Way("perf ring: fill, output", ways.perf_output, 24),
    Way("reserve, reader woken each time", lambda size: ways.reserve(size, ways.WAKE_ALWAYS), 8),
    Way("perf ring, reader woken each time", ways.perf_output, 16, wakes_always=True),
)


class PacketWay(NamedTuple):
    name: str
    text: Callable[[ways.Hook], str]
    in_place: int = 0
    is_perf: bool = False


APPEND = PacketWay("perf ring: packet appended (one copy)", ways.append, is_perf=True)
PACKET_WAYS = (
    APPEND,
    PacketWay("perf ring: load, output (two copies)", ways.load_and_output, is_perf=True),
    PacketWay("ring buffer: load, output (two copies)", ways.load_and_copy),
    PacketWay(f"ring buffer: reserve {SNAP}, load (one copy)", lambda hook: ways.load_in_place(hook, SNAP), SNAP),
    PacketWay(f"ring buffer: reserve {ways.LARGEST_PACKET}, load (one copy)",
              lambda hook: ways.load_in_place(hook, ways.LARGEST_PACKET), ways.LARGEST_PACKET),
)  # fmt: skip


def nanoseconds(value: float, to: float) -> str:
    return f"{value:,.0f} ns ({ratio(value, to)})"


def stride(way: Way, size: int) -> int:
    return (size + way.overhead + 7) & ~7


def costs(batches: int, cpu: int) -> Table:
    """Nanoseconds of a record, the loop taken off."""
    quiet, waking = Bed(RING), Bed(RING, wakes_always=True)
    taken: dict[tuple[str, int], list[float]] = {}
    with quiet, waking:
        nothing = quiet.load(ways.nothing())
        loaded = {(way.name, size): ((waking if way.wakes_always else quiet), way.text(size))
                  for way in RECORDS for size in SIZES}  # fmt: skip
        descriptors = {key: (bed, bed.load(text)) for key, (bed, text) in loaded.items()}
        loop = min(_loop(quiet, nothing, cpu) for _ in range(batches))
        for _ in range(batches):
            for key, (bed, descriptor) in descriptors.items():
                taken.setdefault(key, []).append((_loop(bed, descriptor, cpu) - loop) / ways.RECORDS)
                bed.skip()
    least = {key: min(values) for key, values in taken.items()}
    rows = [(way.name, *(nanoseconds(least[way.name, size], least[RESERVE.name, size]) for size in SIZES))
            for way in RECORDS]  # fmt: skip
    text = (
        f"A raw tracepoint program writes {ways.RECORDS} records in a loop: the least of {batches} runs, without "
        "the loop. In brackets to reserve, fill, submit. A record is filled with words, in the ring or in an element "
        "of a per-CPU array. Nobody is waiting for what is written, but in the last two lines is woken all the same."
    )
    return Table("A record", text, ("", *(f"{size} bytes" for size in SIZES)), rows)


def _loop(bed: Bed, descriptor: int, cpu: int) -> int:
    """Nanoseconds of one run, all of whose records found room."""
    commands.run_program(descriptor, cpu)
    taken, lost = bed.results()
    if lost:
        raise SystemExit(f"{lost} records found no room in an empty ring")
    return taken


def losses(seconds: float, cpu: int) -> Table:
    """Records a second, and what part is lost, while a reader copies all out of the rings."""
    rows: list[tuple[str, ...]] = []
    for way in RECORDS[:3]:
        cells = []
        for size in SIZES:
            with Bed(RING) as bed:
                descriptor = bed.load(way.text(size))
                fired, read = read_while(bed, partial(_written, descriptor, cpu), cpu, seconds)
                lost = bed.results()[1]
                notes(read, fired - lost, stride(way, size))
                cells.append(f"{fired / seconds / 1e6:.1f} M/s, {100 * lost / fired:.1f} %")
        rows.append((way.name, *cells))
    text = (
        f"The same without a pause for {seconds} seconds, while a reader on another CPU copies all out of rings of "
        f"{RING >> 20} MiB: records written a second, and the part that found no room. What was read and what "
        "the program saw refused are together what was written, to the last record, in each cell."
    )
    return Table("Losses", text, ("", *(f"{size} bytes" for size in SIZES)), rows)


def _written(descriptor: int, cpu: int) -> int:
    commands.run_program(descriptor, cpu)
    return ways.RECORDS


def memory(cpu: int) -> Table:
    """Records of one CPU that a megabyte of rings takes before somebody reads."""
    cpus = len(online_cpus())
    rows: list[tuple[str, ...]] = []
    for way in RECORDS[:3]:
        is_perf = way.overhead > 8
        for size in (64, 1024):
            with Bed(MEMORY // (cpus if is_perf else 1)) as bed:
                descriptor = bed.load(way.text(size))
                written = 0
                while True:
                    commands.run_program(descriptor, cpu)
                    lost = bed.results()[1]
                    written += ways.RECORDS - lost
                    if lost:
                        break
                size_read = bed.skip()
                notes(size_read, written, stride(way, size))
            many = MEMORY // 64 // stride(way, size) if is_perf else written
            rows.append((way.name, f"{size} bytes", str(stride(way, size)), f"{written:,}", f"{many:,}"))
    text = (
        f"How many records of one CPU find room in {MEMORY >> 20} MiB of rings, on this machine's {cpus} CPUs, and "
        "how many would on 64, where each has a perf ring of a 64th."
    )
    return Table("Memory", text, ("", "record", "bytes in the ring", "records", "on 64 CPUs"), rows)


APART, MERGED = "perf rings, one after the other", "perf rings, merged by time"


class Seen(NamedTuple):
    """How many records there were and how many behind a later one; seconds for a record, of each round."""

    counts: list[int]
    seconds: list[float]


def order(rounds: int, cpus: Sequence[int]) -> Table:
    """Records of two CPUs at a time: which of them are read behind later ones, and what reading costs."""
    size = 24
    seen = {name: Seen([0, 0], []) for name in ("ring buffer", APART, MERGED)}
    with Bed(RING) as bed:
        plain, perf = bed.load(ways.timed_reserve(size)), bed.load(ways.timed_perf_output(size))
        for _ in range(rounds):
            _write_on_all(plain, cpus)
            begin = time.process_time()
            data = bytes(view := bed.ring.read())
            _note(seen["ring buffer"], data, 32, 8, begin)
            view.release()
            bed.ring.advance(len(data))
            for name in (APART, MERGED):
                _write_on_all(perf, cpus)
                begin = time.process_time()
                if name == APART:
                    data = b"".join(bytes(reader.unread()) for reader in bed.perf)
                    _note(seen[name], data, 56, 28, begin)
                else:
                    merged = MergedRing(bed.perf, time.monotonic_ns)
                    data = bytes(merged.read())
                    _note(seen[name], data, 32, 8, begin)
                for reader in bed.perf:
                    reader.skip()
                bed.results()
    rows: list[tuple[str, ...]] = []
    for name, ((count, behind), taken) in seen.items():
        part = f"{behind:,} ({100 * behind / count:.2f} %)"
        rows.append((name, f"{count:,}", part, f"{1e9 * median(taken):.0f} ns"))
    text = (
        f"Two CPUs write at a time, {rounds} times {RUNS_A_BATCH * ways.RECORDS:,} records each, which begin with "
        "the time at which the program wrote them; then all are read. *Behind* are those that are read after a "
        "record that is later. The last column is what a reader in Python needs for a record, the median."
    )
    return Table("Order", text, ("", "records", "behind", "reading"), rows)


def _write_on_all(descriptor: int, cpus: Sequence[int]) -> None:
    ready = threading.Barrier(len(cpus))

    def write(cpu: int) -> None:
        os.sched_setaffinity(0, {cpu})
        ready.wait()
        for _ in range(RUNS_A_BATCH):
            commands.run_program(descriptor, cpu)

    threads = [threading.Thread(target=write, args=(cpu,)) for cpu in cpus]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _note(seen: Seen, data: bytes, step: int, offset: int, begin: float) -> None:
    """Add the records in `data`, those behind a later one, and the processor's seconds since `begin`."""
    taken = time.process_time() - begin
    latest, behind, count = 0, 0, 0
    for (moment,) in struct.iter_unpack(f"={offset}xQ{step - offset - 8}x", data[: len(data) // step * step]):
        count += 1
        behind += moment < latest
        latest = max(latest, moment)
    seen.counts[0] += count
    seen.counts[1] += behind
    seen.seconds.append(taken / count)


def sessions(seconds: int) -> Table:
    """sonde itself, its lines into a file."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "lines")
        for pace in (100_000, 300_000, 0):
            for output in ("ringbuf", "perf"):
                load = f"{workload()} {pace} {seconds}"
                command = [SONDE, "-q", f"-xoutput={output}", "-o", path, "-c", load, "-n", throughput.PROGRAM]
                got = min((_session(command, path, output) for _ in range(SESSIONS)), key=lambda each: each.lost)
                cost = f"{1e6 * got.processor / got.calls:.2f} µs"
                counts = (f"{each:,}" for each in (got.calls, got.lines, got.lost))
                rows.append((f"-xoutput={output}", f"{pace:,}/s" if pace else "full", *counts, cost))
    text = (
        f"`{throughput.PROGRAM}` into a file, default sizes, for {seconds} seconds; of {SESSIONS} runs the one with "
        "the fewest losses. Lines and losses are the calls, or the measurement ends. The last column is the processor "
        "time of a call, that of the process that makes it included."
    )
    return Table("sonde's lines", text, ("", "pace", "calls", "lines", "lost", "CPU"), rows)


def _session(command: list[str], path: str, output: str) -> throughput.Outcome:
    got = throughput.run(command, path, r"(\d+) drops? on CPU")
    os.unlink(path)
    missing = got.calls - got.lines - got.lost
    if missing:
        raise SystemExit(f"{output}: {missing} of {got.calls} calls are neither lines nor told as lost")
    return got


def packets(batches: int, hook: ways.Hook, kind: int, sizes: Sequence[int], title: str, where: str) -> Table:
    """Nanoseconds of a packet, what the run of an empty program takes taken off."""
    taken: dict[tuple[str, int], list[int]] = {}
    alone: dict[int, int] = {}
    with Bed(PACKET_RING) as bed:
        empty = bed.load(ways.passing(hook), kind)
        descriptors = {way.name: bed.load(way.text(hook), kind) for way in PACKET_WAYS}
        for batch in range(batches + 1):
            for size in sizes:
                packet = bytes(range(256)) * 256
                alone[size] = min(alone.get(size, 1 << 40), run_packet(empty, packet[:size], RUNS_A_BATCH))
                for way in _fitting(size):
                    cost = run_packet(descriptors[way.name], packet[:size], RUNS_A_BATCH)
                    if bed.results()[1]:
                        raise SystemExit(f"{way.name}: packets of {size} bytes found no room in an empty ring")
                    bed.skip()
                    if batch:  # The first makes memory warm.
                        taken.setdefault((way.name, size), []).append(cost)
    least = {key: min(values) - alone[key[1]] for key, values in taken.items()}
    rows = [(way.name, *(nanoseconds(least[way.name, size], least[APPEND.name, size])
                         if way in _fitting(size) else "too long" for size in sizes))
            for way in PACKET_WAYS]  # fmt: skip
    text = (
        f"{where} by BPF_PROG_TEST_RUN: the least of {batches} times {RUNS_A_BATCH} runs, without what an empty "
        f"program takes. Each record has {ways.HEAD} bytes of the program's own before the packet. In brackets to the "
        "appended packet."
    )
    return Table(title, text, ("", *(f"{size:,} bytes" for size in sizes)), rows)


def _fitting(size: int) -> Sequence[PacketWay]:
    return [way for way in PACKET_WAYS if not way.in_place or size <= way.in_place]


def packet_losses(seconds: float, cpu: int) -> Table:
    """What part of packets without a pause finds no room, while a reader copies all out."""
    rows: list[tuple[str, ...]] = []
    for way in PACKET_WAYS:
        cells = []
        for size in PACKETS:
            if way not in _fitting(size):
                cells.append("too long")
                continue
            with Bed(RING) as bed:
                descriptor = bed.load(way.text(ways.XDP), programs.XDP)
                runs, read = read_while(bed, partial(_run, descriptor, size), cpu, seconds)
                lost = bed.results()[1]
                step = packet_stride(way, size)
                notes(read, runs - lost, step)
                cells.append(f"{runs / seconds / 1e6:.2f} M/s, {100 * lost / runs:.1f} %; {step:,} B")
        rows.append((way.name, *cells))
    text = (
        f"XDP programs without a pause for {seconds} seconds, while a reader on another CPU copies all out of rings "
        f"of {RING >> 20} MiB: packets a second, the part that found no room, and how many bytes of the ring each "
        "takes. Read and refused are together what was run, to the last packet, in each cell."
    )
    return Table("Losses of packets", text, ("", *(f"{size:,} bytes" for size in PACKETS)), rows)


def _run(descriptor: int, size: int) -> int:
    run_packet(descriptor, bytes(size), RUNS_WITHOUT_PAUSE)
    return RUNS_WITHOUT_PAUSE


def packet_stride(way: PacketWay, size: int) -> int:
    """Bytes of the ring that a packet takes."""
    room = ways.HEAD + (way.in_place or size)
    return (room + (20 if way.is_perf else 8) + 7) & ~7


def machine() -> str:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    release = re.match(r"[\d.]+", platform.release())
    named = f"Linux {release[0] if release else platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs"
    return f"{named}{f' ({model[1].strip()})' if model else ''}, load {os.getloadavg()[0]:.1f} at the beginning"


def main() -> None:
    parser = argparse.ArgumentParser(description="The ways to write a record")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--json")
    parser.add_argument("--page", action="store_true", help="write docs/records-cost.md")
    arguments = parser.parse_args()
    online = online_cpus()
    if len(online) < 2:
        raise SystemExit("this needs two CPUs")
    reader_cpu, cpu = online[:2]
    where = machine()
    os.sched_setaffinity(0, {cpu})
    tables = [
        costs(arguments.batches, cpu),
        embedded_records.costs(arguments.batches),
        memory(cpu),
        packets(arguments.batches // 4, ways.XDP, programs.XDP, PACKETS, "A packet, in XDP", "An XDP program"),
        packets(arguments.batches // 4, ways.CLASSIFIER, programs.SCHED_CLS, FRAMES, "A packet, in a classifier",
                "A classifier, as at tcx (the kernel makes such packets of a page at most),"),
    ]  # fmt: skip
    os.sched_setaffinity(0, {reader_cpu})
    tables[2:2] = [losses(arguments.seconds, cpu)]
    tables.append(packet_losses(arguments.seconds, cpu))
    os.sched_setaffinity(0, online)
    tables[4:4] = [order(10, (reader_cpu, cpu)), sessions(max(1, round(2 * arguments.seconds)))]
    show(tables, arguments.json)
    if arguments.page:
        record_page.write(tables, where, f"python bench/records.py --batches {arguments.batches} --page")


if __name__ == "__main__":
    main()
