"""What a record costs on the embedded engine, in each of the ways to write one.

    python bench/embedded_records.py [--batches N] [--json FILE] [--page]

Needs no privilege. --page writes its section of docs/records-cost.md; bench/records.py measures it with the others.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import record_page
import record_programs as ways
from common import Table, ratio, show

sys.path += [str(Path(__file__).parent.parent / "tests")]

from support.bpf.embedded_world import World

from sonde.bpf import maps, programs
from sonde.bpf.assembler import assemble
from sonde.bpf.instructions import encode
from sonde.engines.kernel.ring import KernelRing
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.model.spec import MapSpec, ProgramSpec
from sonde.runtime.helpers.table import SUPPORTED, make_helpers
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.translation.translator import translate
from sonde.runtime.maps.creation import create
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.verifier.verify import verify

RING = 4 << 20
SIZES = (16, 64, 256, 1024)

WAYS: dict[str, Callable[[int], str]] = {
    "perf ring: reserve, fill, commit": ways.perf_reserve,
    "perf ring: fill, output": ways.perf_output,
    "ring buffer: reserve, fill, submit": ways.reserve,
    "ring buffer: fill, output": ways.ringbuf_output,
}
FIRST = next(iter(WAYS))


class Measured(NamedTuple):
    """One program, and how to empty what it writes to; `results` gives nanoseconds and losses of a run."""

    run: Callable[[], int]
    results: Callable[[], tuple[int, int]]
    skip: Callable[[], None]


def prepared(text: str) -> Measured:
    """A program of record_programs, verified and translated, with maps and rings of its own."""
    world = World()
    specs = (
        MapSpec("ring", maps.RINGBUF, 0, 0, RING),
        MapSpec("rings", maps.PERF_EVENT_ARRAY, 4, 4, 1),
        MapSpec("scratch", maps.PERCPU_ARRAY, 4, 2048, 1),
        MapSpec("results", maps.ARRAY, 4, 16, 1),
    )
    made = {spec.name: create(spec, world.memory, world.table) for spec in specs}
    event = OpenPerfEvent(Attributes(sample_type=perf.SAMPLE_TIME | perf.SAMPLE_RAW))
    reader = PerfRingReader(event.map(RING // 4096))
    made["rings"].set(0, event)
    ring = KernelRing(made["ring"].descriptor, RING)
    code, references = assemble(text)
    spec = ProgramSpec("measured", programs.RAW_TRACEPOINT, 0, encode(code), references, ())
    verified = verify(spec, {name: each.spec for name, each in made.items()})
    environment = world.environment
    linked = link(spec._replace(code=encode(verified.code)), made, lambda stamp: 0, environment.functions)
    execution = translate(linked, world.memory, make_helpers(SUPPORTED, environment), environment.functions)
    context = world.place(bytes(4096))

    def results() -> tuple[int, int]:
        ((key, value),) = made["results"].items()
        made["results"].update(key, bytes(16))
        return struct.unpack("=QQ", value)

    def skip() -> None:
        data = ring.read()
        size = len(data)
        data.release()
        ring.advance(size)
        reader.skip()

    return Measured(lambda: execution.run(context), results, skip)


def taken(measured: Measured) -> int:
    """Nanoseconds of one run, all of whose records found room."""
    measured.run()
    time, lost = measured.results()
    measured.skip()
    if lost:
        raise SystemExit(f"{lost} records found no room in an empty ring")
    return time


def costs(batches: int) -> Table:
    """Nanoseconds of a record, the loop taken off."""
    nothing = prepared(ways.nothing())
    loaded = {(name, size): prepared(text(size)) for name, text in WAYS.items() for size in SIZES}
    loop = min(taken(nothing) for _ in range(batches))
    least = {key: float("inf") for key in loaded}
    for _ in range(batches):
        for key, measured in loaded.items():
            least[key] = min(least[key], (taken(measured) - loop) / ways.RECORDS)
    rows = [
        (
            name,
            *(f"{least[name, size] / 1000:.2f} µs ({ratio(least[name, size], least[FIRST, size])})" for size in SIZES),
        )
        for name in WAYS
    ]
    saved = [least["perf ring: fill, output", size] / least[FIRST, size] for size in SIZES]
    text = (
        "The kernel has nothing that is reserved in a perf ring; the embedded engine has two helpers for it "
        "(`-xoutput=perf-reserve`). The sample's head is written when room is taken, the program stores behind it, "
        "also over the ring's end, since the ring's memory is mapped twice, and nothing is copied. The same programs "
        f"as above, translated to Python: the least of {batches} runs of {ways.RECORDS} records, without the loop, in "
        "brackets to the first row.\n\n"
        f"To reserve takes {1 / saved[0]:.2f} times as long as to output at 16 bytes and {1 / saved[-1]:.2f} times at "
        "1024: here, too, the copy is not what a perf ring costs. What is left is the sample's head, with its time, "
        "which a ring buffer has not."
    )
    return Table("A record, on the embedded engine", text, ("", *(f"{size} bytes" for size in SIZES)), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="The ways to write a record on the embedded engine")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--json")
    parser.add_argument("--page", action="store_true", help="write its section of docs/records-cost.md")
    arguments = parser.parse_args()
    table = costs(arguments.batches)
    show([table], arguments.json)
    if arguments.page:
        record_page.replace(table)


if __name__ == "__main__":
    main()
