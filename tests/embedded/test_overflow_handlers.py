"""Overflow handlers of perf events that are programs."""

import struct
import threading

import pytest
from support.bpf.embedded_world import World
from support.bpf.perf_programs import load, program
from support.files.perf_rings import reader_of
from support.files.raw_fragments import linear

from sonde.bpf import maps, programs
from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_sample
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent, open_event
from sonde.runtime.perf.sample import Sample
from sonde.runtime.programs.overflow import Overflows
from sonde.runtime.verifier.contexts import CONTEXTS, find
from sonde.runtime.verifier.verify import Refusal

CLOCK = Attributes(config=perf.SOFTWARE_CPU_CLOCK, sample_period=4000, sample_type=perf.SAMPLE_PERIOD, inherit=True)


class Answers:
    """A program that answers `result` and keeps the cookies it ran with."""

    kind = programs.PERF_EVENT

    def __init__(self, result=0, act=None):
        self.result = result
        self.cookies = []
        self.act = act

    def run(self, context, cookie):
        self.cookies.append(cookie)
        if self.act:
            self.act(context)
        return self.result


@pytest.fixture
def environment():
    return World().environment


@pytest.fixture
def overflows(environment):
    return Overflows(environment)


def event_of(attributes=CLOCK, **others):
    event = OpenPerfEvent(attributes, 7, **others)
    event.map(1)
    return event


def written(event):
    return [decode_sample(r.body, perf.SAMPLE_PERIOD).fields["period"] for r in reader_of(event).read()]


def test_a_handler_can_be_a_program_attached_as_by_ioctl(overflows):
    event, program = event_of(), Answers()
    event.attach(program, cookie=42)
    overflows.overflow(event, Sample({"period": 1}))
    assert program.cookies == [42]


def test_a_handler_can_be_given_at_open_time_by_an_attribute_bit_and_config1(overflows):
    program = Answers()
    event = open_event(CLOCK._replace(handler=True, config1=5), {5: program})
    overflows.overflow(event, Sample({"period": 1}))
    assert len(program.cookies) == 1
    with pytest.raises(FileExistsError):
        event.attach(Answers())


def test_at_open_time_config1_has_to_name_a_program_of_the_right_type():
    kprobe = Answers()
    kprobe.kind = programs.KPROBE
    with pytest.raises(OSError, match="config1 names no program: 6"):
        open_event(CLOCK._replace(handler=True, config1=6), {5: kprobe})
    with pytest.raises(OSError, match="of type perf_event"):
        open_event(CLOCK._replace(handler=True, config1=5), {5: kprobe})
    assert open_event(CLOCK, {}).handlers.handler is None


def test_there_is_one_owner_and_a_second_attach_is_eexist(overflows):
    event, first, second = event_of(), Answers(), Answers()
    event.attach(first)
    with pytest.raises(FileExistsError):
        event.attach(second)
    overflows.overflow(event, Sample())
    assert (len(first.cookies), len(second.cookies)) == (1, 0)
    event.detach()
    event.attach(second)


def test_of_many_threads_that_attach_at_once_one_succeeds():
    for _ in range(20):
        event, outcomes = event_of(), []
        start = threading.Barrier(8)

        def attach(event=event, outcomes=outcomes, start=start):
            start.wait()
            try:
                event.attach(Answers())
                outcomes.append("owner")
            except FileExistsError:
                outcomes.append("EEXIST")

        threads = [threading.Thread(target=attach) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["EEXIST"] * 7 + ["owner"]


def test_a_handler_is_replaced_atomically_under_load(overflows):
    """Each sample is handled by one of the two programs with its own cookie, or, without one, written."""
    event = event_of()
    seen = {"a": [], "b": []}
    original = []
    event.original = lambda sample: original.append(sample) or 0

    def program(name):
        made = Answers()
        made.run = lambda context, cookie: seen[name].append(cookie) or 0
        return made

    a, b = program("a"), program("b")
    event.attach(a, cookie=1)
    done = threading.Event()

    def replace():
        current, other = (a, 1), (b, 2)
        while not done.is_set():
            event.replace(*other, expected=current[0])
            current, other = other, current

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        count = 0
        while not (seen["a"] and seen["b"] and count >= 20000) and count < 5_000_000:
            overflows.overflow(event, Sample())
            count += 1
    finally:
        done.set()
        thread.join()
    assert set(seen["a"]) == {1}
    assert set(seen["b"]) == {2}
    assert len(seen["a"]) + len(seen["b"]) == count
    assert not original


def test_replacing_names_what_it_replaces():
    event, first, second = event_of(), Answers(), Answers()
    with pytest.raises(FileNotFoundError):
        event.replace(first)
    event.attach(first)
    with pytest.raises(PermissionError):
        event.replace(second, expected=second)
    event.replace(second, expected=first)
    assert event.handlers.handler.program is second
    wrong = Answers()
    wrong.kind = programs.XDP
    with pytest.raises(OSError, match="Errno 22"):
        event.replace(wrong)


@pytest.mark.parametrize(("result", "expected"), [(0, []), (1, [11]), (5, [11])])
def test_its_result_decides_whether_the_original_handler_also_writes_its_sample(overflows, result, expected):
    event = event_of()
    event.attach(Answers(result))
    assert overflows.overflow(event, Sample({"period": 11})) == 0
    assert written(event) == expected


def test_without_a_program_the_original_handler_writes(overflows):
    event = event_of()
    overflows.overflow(event, Sample({"period": 11}))
    event.attach(Answers())
    event.detach()
    overflows.overflow(event, Sample({"period": 12}))
    assert written(event) == [11, 12]
    with pytest.raises(FileNotFoundError):
        event.detach()


def test_it_chains_to_an_original_handler_that_is_not_the_rings(overflows):
    seen = []
    event = event_of(original=lambda sample: seen.append(sample.values["period"]) or 0)
    event.attach(Answers(1))
    overflows.overflow(event, Sample({"period": 11}))
    child = event.inherit(8)
    overflows.overflow(child, Sample({"period": 12}))
    assert seen == [11, 12]
    assert written(event) == []


def test_both_outputs_can_be_had_at_once(overflows):
    """The program writes a record of its own into another event's ring, and the sample is written too."""
    event, own = event_of(), event_of(Attributes())
    event.attach(Answers(1, lambda context: own.output(Sample(raw=linear(memoryview(b"its own"))))))
    overflows.overflow(event, Sample({"period": 11}))
    assert written(event) == [11]
    (record,) = reader_of(own).read()
    assert decode_sample(record.body, perf.SAMPLE_RAW).raw[:7] == b"its own"


def test_children_inherit_the_handler(overflows):
    parent, program = event_of(), Answers(1)
    parent.attach(program, cookie=3)
    child = parent.inherit(8)
    grandchild = child.inherit(9)
    overflows.overflow(child, Sample({"period": 21}))
    overflows.overflow(grandchild, Sample({"period": 22}))
    assert program.cookies == [3, 3]
    assert written(parent) == [21, 22]


def test_only_events_with_the_attribute_are_inherited():
    assert event_of(CLOCK._replace(inherit=False)).inherit(8) is None


def test_detaching_in_the_parent_clears_it_in_the_children(overflows):
    parent, program = event_of(), Answers()
    parent.attach(program)
    family = [parent.inherit(8)]
    family.append(family[0].inherit(9))
    parent.detach()
    for each in family:
        overflows.overflow(each, Sample({"period": 5}))
    assert program.cookies == []
    assert written(parent) == [5, 5]


def test_an_inherited_event_has_no_owner_of_its_own():
    parent = event_of()
    child = parent.inherit(8)
    for change in (lambda: child.attach(Answers()), child.detach, lambda: child.replace(Answers())):
        with pytest.raises(OSError, match="inherited"):
            change()


def test_records_of_an_inherited_event_bear_the_number_of_the_one_it_comes_from(overflows):
    wanted = perf.SAMPLE_IDENTIFIER | perf.SAMPLE_ID | perf.SAMPLE_STREAM_ID
    parent = event_of(CLOCK._replace(sample_type=wanted))
    overflows.overflow(parent.inherit(8), Sample())
    (record,) = reader_of(parent).read()
    assert decode_sample(record.body, wanted).fields == {"identifier": 7, "id": 7, "stream_id": 8}


def test_the_context_is_a_meta_structure_of_registers_sample_period_and_addr(environment, overflows):
    """What a program asks for at the offsets of struct bpf_perf_event_data is where the verifier's table says."""
    seen = {}
    context_table = CONTEXTS[programs.PERF_EVENT]

    def look(context):
        for offset in (*range(0, 168, 8), 168, 176):
            access = find(context_table, offset, 8)
            seen[offset] = int.from_bytes(environment.memory.read(context + access.at, access.size), "little")

    event = event_of()
    event.attach(Answers(0, look))
    registers = struct.pack("=21Q", *range(100, 121))
    overflows.overflow(event, Sample({"period": 4000, "addr": 0xABC}, registers=registers))
    assert seen == {8 * n: 100 + n for n in range(21)} | {168: 4000, 176: 0xABC}
    overflows.overflow(event, Sample())
    assert set(seen.values()) == {0}, "nothing of another sample is left"


LARGE_PERIODS = """
    r2 = *(u64 *)(r1 +128)
    r3 = *(u64 *)(r1 +176)
    r4 = *(u32 *)(r1 +168)
    r5 = map[seen][0]
    *(u64 *)(r5 +0) = r2
    *(u64 *)(r5 +8) = r3
    *(u64 *)(r5 +16) = r4
    r0 = 0
    if r4 < 1000 goto out
    r0 = 1
out:
    exit
"""
"""Notes ip, addr and the lower half of sample_period; large periods are written as samples, too."""


def test_a_verified_programs_accesses_are_rewritten_to_the_meta_structure():
    world = World()
    overflows = Overflows(world.environment)
    seen = world.map(maps.ARRAY, 4, 24, 1)
    event = event_of()
    event.attach(load(world, program(programs.PERF_EVENT, LARGE_PERIODS), {"seen": seen}))
    registers = struct.pack("=21Q", *range(100, 121))
    for period in (999, (1 << 32) + 1000):
        overflows.overflow(event, Sample({"period": period, "addr": 0xABC}, registers=registers))
        assert struct.unpack("=3Q", seen.items()[0][1]) == (116, 0xABC, period & 0xFFFFFFFF)
    assert written(event) == [(1 << 32) + 1000]


OUTPUT = """
    r2 = map[events]
    w3 = -1
    r4 = r10
    r4 += -8
    *(u64 *)(r4 +0) = 7
    r5 = 8
    call bpf_perf_event_output
    r0 = 0
    exit
"""


@pytest.mark.parametrize(("segment", "misc"), [(0x33, perf.MISC_USER), (0x10, perf.MISC_KERNEL)])
def test_what_a_handler_outputs_speaks_of_what_was_interrupted(segment, misc):
    world = World()
    registers = bytearray(168)
    struct.pack_into("=QQ", registers, 128, 0x401000, segment)
    world.task.registers = world.place(registers)
    own = event_of(Attributes(sample_type=perf.SAMPLE_RAW | perf.SAMPLE_IP))
    events = world.map(maps.PERF_EVENT_ARRAY, 4, 4, 1)
    events.set(0, own)
    event = event_of()
    event.attach(load(world, program(programs.PERF_EVENT, OUTPUT), {"events": events}))
    Overflows(world.environment).overflow(event, Sample(registers=bytes(registers)))
    (record,) = reader_of(own).read()
    assert record.misc == misc
    assert decode_sample(record.body, perf.SAMPLE_RAW | perf.SAMPLE_IP).fields["ip"] == 0x401000


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("r0 = *(u64 *)(r1 +184)", "nothing there"),
        ("r0 = *(u32 *)(r1 +8)", "regs is accessed by 8 bytes"),
        ("r0 = *(u64 *)(r1 +172)", "not aligned"),
        ("r0 = 0\n*(u64 *)(r1 +168) = r0", "cannot be written"),
    ],
)
def test_accesses_to_the_context_are_checked(access, message):
    with pytest.raises(Refusal, match=message):
        load(World(), program(programs.PERF_EVENT, f"{access}\nexit"))


def test_a_program_that_overflows_itself_is_not_entered_again(overflows):
    event = event_of()
    program = Answers(1)
    program.act = lambda context: overflows.overflow(event, Sample({"period": 99}))
    event.attach(program)
    overflows.overflow(event, Sample({"period": 1}))
    assert len(program.cookies) == 1
    assert overflows.skipped == 1
    assert written(event) == [1]


def test_a_program_that_fails_leaves_the_cpu_to_the_next(environment, overflows):
    def fail(context):
        raise ZeroDivisionError

    event = event_of()
    event.attach(Answers(0, fail))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            overflows.overflow(event, Sample())
    assert (overflows.skipped, environment.event) == (0, None)
