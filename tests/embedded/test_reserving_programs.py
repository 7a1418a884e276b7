"""Programs that reserve slots in perf rings: what they store is read, and the verifier demands each slot back."""

import pytest
from support.bpf.embedded_world import World
from support.bpf.perf_programs import execution, load, program  # noqa: F401 - `execution` runs every test in both
from support.files.perf_rings import event_with_ring, put, reader_of
from support.files.raw_fragments import linear

from sonde.bpf import maps, programs
from sonde.bpf.helpers import DISCARD_SLOT
from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_sample
from sonde.runtime.machine.faults import AccessError
from sonde.runtime.verifier.verify import Refusal

SIZE = 4096
KINDS = {"time": perf.SAMPLE_TIME | perf.SAMPLE_RAW, "bare": perf.SAMPLE_RAW}


WRITES = """
    r6 = *(u64 *)(r1 +0)
    r1 = map[events]
    r2 = 40
    r3 = 0xffffffff ll
    call bpf_perf_event_reserve
    if r0 == 0 goto full
    *(u64 *)(r0 +0) = r6
    *(u32 *)(r0 +8) = r6
    *(u8 *)(r0 +39) = r6
    r1 = r0
    r2 = {flags}
    call bpf_perf_event_commit
    r0 = 1
    exit
full:
    r0 = 0
    exit
"""


def world_with_events(sample_type):
    world = World()
    events = world.map(maps.PERF_EVENT_ARRAY, 4, 4, 1)
    event = event_with_ring(sample_type=sample_type)
    events.set(0, event)
    return world, events, event


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_stores_into_its_slot(kind):
    world, events, event = world_with_events(KINDS[kind])
    # A bpf-output event is a software event.
    written = load(world, program(programs.RAW_TRACEPOINT, WRITES.format(flags=0)), {"events": events})
    dropped = load(world, program(programs.RAW_TRACEPOINT, WRITES.format(flags=DISCARD_SLOT)), {"events": events})
    reader, read, refused, number = reader_of(event), [], 0, 0
    for round_ in range(40):
        for _ in range(7 * round_ % 130):
            number += 1
            context = world.place(number.to_bytes(8, "little") * 12)
            if number % 3 == 0:
                refused += not dropped.run(context)
            elif not written.run(context):
                refused += 1
        for record in reader.read():
            if record.type == perf.RECORD_SAMPLE:
                raw = bytes(decode_sample(record.body, KINDS[kind]).raw)
                read.append(int.from_bytes(raw[:8], "little"))
                assert (raw[8:12], raw[39]) == (read[-1].to_bytes(4, "little"), read[-1] & 255)
        reader.advance()
    assert read == sorted(read)
    assert not any(each % 3 == 0 for each in read)
    skipped = number - refused - len(read)
    assert 0 < skipped <= number // 3
    assert event.lost == refused > 0


def test_a_program_without_an_event_gets_no_room():
    world = World()
    events = world.map(maps.PERF_EVENT_ARRAY, 4, 4, 1)
    loaded = load(world, program(programs.RAW_TRACEPOINT, WRITES.format(flags=0)), {"events": events})
    assert loaded.run(world.place(bytes(96))) == 0


RESERVE = """
    r1 = map[events]
    r2 = 40
    r3 = 0
    call bpf_perf_event_reserve
"""
COMMIT = "r2 = 0\ncall bpf_perf_event_commit\n"
CHECKED = f"{RESERVE}\nif r0 == 0 goto end\n"
END = "end:\nr0 = 0\nexit"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{CHECKED}\n{END}", "is neither submitted nor discarded on this way"),
        (f"{RESERVE}\nr1 = r0\n{COMMIT}\n{END}", "is not compared with 0 before"),
        (f"{CHECKED}\nr6 = r0\nr1 = r0\n{COMMIT}\nr1 = r6\n{COMMIT}\n{END}", "takes a reserved slot"),
        (f"{CHECKED}\nr6 = r0\nr1 = r0\n{COMMIT}\n*(u64 *)(r6 +0) = 1\n{END}", ""),
        (f"{CHECKED}\nr1 = r0\nr1 += 8\n{COMMIT}\n{END}", "takes the slot's start"),
        (f"{CHECKED}\n*(u64 *)(r0 +36) = 1\nr1 = r0\n{COMMIT}\n{END}", "the slot"),
        (f"{CHECKED}\nr1 = r0\nr2 = 0\ncall bpf_ringbuf_submit\n{END}", "takes a reserved record"),
        (f"r1 = map[ring]\nr2 = 40\nr3 = 0\ncall bpf_ringbuf_reserve\nif r0 == 0 goto end\nr1 = r0\n{COMMIT}\n{END}",
            "takes a reserved slot"),
        (f"r1 = map[ring]\nr2 = 40\nr3 = 0\ncall bpf_perf_event_reserve\nif r0 == 0 goto end\nr1 = r0\n{COMMIT}\n{END}",
            "ring"),
        (f"r2 = *(u64 *)(r1 +0)\nr1 = map[events]\nr3 = 0\ncall bpf_perf_event_reserve\n{END}", "takes a constant"),
    ],
    ids=["kept", "null", "twice", "used after", "inside", "beyond", "as a record", "a record", "a ring buffer", "size"],
)  # fmt: skip
def test_the_verifier_demands_the_slot_back(text, message):
    world, events, _ = world_with_events(perf.SAMPLE_RAW)
    ring = world.map(maps.RINGBUF, 0, 0, SIZE)
    with pytest.raises(Refusal) as raised:
        load(world, program(programs.RAW_TRACEPOINT, text), {"events": events, "ring": ring})
    assert message in str(raised.value)


def test_an_address_that_was_not_reserved_is_refused_by_the_helper(execution):  # noqa: F811 - the fixture
    world, events, event = world_with_events(perf.SAMPLE_RAW)
    assert world.call("perf_event_reserve", events.handle, 16, 1 << 32) == 0
    slot = world.call("perf_event_reserve", events.handle, 16, 0)
    for wrong in (slot + 8, 0, 1 << 63):
        with pytest.raises(AccessError):
            world.call("perf_event_commit", wrong, 0)
    assert world.call("perf_event_commit", slot, 0) == 0
    put(event, linear(memoryview(b"behind")))
    assert len(reader_of(event).read()) == 2
