"""perf.data files as firings: which probes they are of, in which threads, with what."""

import struct

import pytest
from support.files import perf_files
from support.files.perf_files import open_firings
from support.symbols.dumped_stacks import DumpedStack

from sonde.arch import registers
from sonde.engines.fired import RecordedFiring
from sonde.formats.perf_data import PerfDataError
from sonde.formats.perf_features import BUILD_ID
from sonde.model.stack_remarks import NO_OBJECT, STACK_ENDS, WIDTH, remark_word
from sonde.providers.filed_events import FiledTraceEvents
from sonde.runtime.kernel_types import layout
from sonde.symbols.mappings import parse_maps
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped


def opened(tmp_path, data):
    path = tmp_path / "perf.data"
    path.write_bytes(data)
    return open_firings(str(path))


def fired(source, *providers):
    """Description, time, process and name of each firing of these providers, and the firing."""
    found = [each for each in source.happenings() if isinstance(each, RecordedFiring)]
    probes = source.probes
    return [
        (str(probes[each.probe]), each.time, each.thread.pid, each.thread.comm, each) for each in found
        if probes[each.probe].provider in providers
    ]  # fmt: skip


def test_samples_fire_probes_in_their_threads(tmp_path):
    source = opened(tmp_path, perf_files.file(perf_files.session()))
    found = fired(source, "sdt", "syscall", "profile")
    assert [each[:4] for each in found] == [
        ("profile:::profile-999", 100, 10, b"shell"),
        ("sdt:sched::sched_switch", 300, 10, b"shell"),
        ("sdt:sched::sched_process_exec", 480, 20, b"program"),
        ("syscall:vmlinux:openat:return", 800, 20, b"program"),
        ("syscall:vmlinux:openat:return", 1000, 20, b"program"),
        ("profile:::profile-999", 1100, 20, b"program"),
        # Where there is an event of all calls they fire with that one alone: each once.
        ("syscall:vmlinux:openat:entry", 1200, 20, b"program"),
        ("sdt:raw_syscalls::sys_enter", 1200, 20, b"program"),
    ]
    assert source.damage == ""
    assert source.realtime_offset == 10**18 - 10**9


def of_calls(tmp_path, records):
    told = perf_files.features()
    events = [each for each in perf_files.EVENTS if each[0] != "raw_syscalls:sys_enter"]
    return opened(tmp_path, perf_files.file(records, told, events))


def test_calls_have_their_arguments_and_results(tmp_path):
    thread = (7, 8)
    records = [
        perf_files.opened(5, thread, 0x7000, 0x241, cpu=1, stack=((1 << 64) - 512, 0x4444, 0x5555)),
        perf_files.returned(6, thread, -2),
    ]
    source = of_calls(tmp_path, records)
    entry, back = (each[4] for each in fired(source, "syscall"))
    words = [
        int.from_bytes(entry.registers[at : at + 8], "little")
        for at in (registers.CALL_NUMBER, registers.PROGRAM_COUNTER, *registers.CALL_ARGUMENTS)
    ]
    assert words == [perf_files.OPENAT, 0x4444, (1 << 64) - 100, 0x7000, 0x241, 0o644, 0, 0]
    result = back.registers[registers.CALL_RESULT : registers.CALL_RESULT + 8]
    assert int.from_bytes(result, "little", signed=True) == -2
    assert (entry.cpu, back.cpu, entry.thread.tid, entry.thread.pid) == (1, 0, 8, 7)
    assert (entry.user_stack, entry.kernel_stack) == ((0x4444, 0x5555), ())


def test_a_stack_of_registers_and_bytes_is_walked(tmp_path):
    """By the tables of the file that the process had mapped then; what a call chain has is taken instead."""
    dumped, thread = DumpedStack("-O2"), (7, 7)
    maps = [
        perf_files.mapped(1, thread, each.start, each.end - each.start, each.path.encode(), each.offset, each.inode)
        for each in parse_maps(dumped.maps) if each.executable and each.is_object
    ]  # fmt: skip
    taken, stack = dumped.pt_regs(), dumped.stack[:8192]
    chain = ((1 << 64) - 512, 0x4444, 0x5555)
    records = [
        perf_files.sample_with_stack(0, thread, taken, stack), *maps,
        perf_files.sample_with_stack(2, thread, taken, stack),
        perf_files.sample_with_stack(3, thread, taken, b"", 512),
        perf_files.sample_with_stack(4, thread, taken, stack, abi=1),
        perf_files.sample_with_stack(5, thread, taken, stack, abi=0),
        perf_files.sample_with_stack(6, thread, taken, stack, chain=chain),
    ]  # fmt: skip
    told = [each for each in perf_files.features() if each[0] != BUILD_ID]
    source = opened(tmp_path, perf_files.file(records, told, [perf_files.event_with_stack()]))
    stacks = [
        each.unwound() if each.unwound else each.user_stack
        for each in source.happenings() if isinstance(each, RecordedFiring) and each.time != 1
    ]  # fmt: skip
    first = dumped.registers["IP"]
    assert stacks == [
        (first, remark_word(NO_OBJECT)), (first, *dumped.callers), (first, remark_word(STACK_ENDS)),
        (first, remark_word(WIDTH)), (), chain[1:],
    ]  # fmt: skip


def read(firing, address, size):
    for each in firing.reads:
        if each.address <= address and address + size <= each.address + len(each.data):
            return each.data[address - each.address :][:size]
    return None


def test_a_switch_tells_of_both_threads(tmp_path):
    task = layout("struct task_struct").offsets
    records = [
        perf_files.named(0, (20, 21), b"worker"), perf_files.named(0, (10, 10), b"shell"),
        perf_files.switch(9, (10, 10), (b"worker", 21), cpu=1),
    ]  # fmt: skip
    by_name = {each[0]: each[4] for each in fired(opened(tmp_path, perf_files.file(records)), "rawtp")}
    switch, begun = by_name["rawtp:::sched_switch"], by_name["rawtp:::switch_in"]
    preempt, prev, following, state = struct.unpack("=4Q", switch.context)
    assert (preempt, state) == (0, 1)
    for address, expected in ((prev, (b"shell", 10, 10)), (following, (b"worker", 21, 20))):
        comm = read(switch, address + task["comm"], 16).rstrip(b"\0")
        numbers = struct.unpack("=ii", read(switch, address + task["pid"], 8))
        assert (comm, *numbers) == expected
        # What nobody tells cannot be read.
        assert read(switch, address + task["exit_code"], 4) is None
    assert (begun.thread.pid, begun.thread.tid, begun.thread.comm) == (20, 21, b"worker")
    assert (switch.thread.tid, switch.cpu) == (10, 1)


def test_what_threads_do_fires_the_tracepoints_that_no_event_tells_of(tmp_path):
    task = 1 << 13
    told = [(perf_files.EVENTS[-1][0], perf_files.EVENTS[-1][1])]
    event = told[0][1]
    attributes = bytearray(event.attributes)
    struct.pack_into("=Q", attributes, 40, int.from_bytes(attributes[40:48], "little") | task | 1 << 24)
    events = [(told[0][0], event._replace(attributes=bytes(attributes)))]
    records = [
        perf_files.forked(0, (10, 10), (1, 1)), perf_files.named(0, (10, 10), b"shell"),
        perf_files.forked(50, (20, 20), (10, 10)), perf_files.named(60, (20, 20), b"program", by_exec=True),
        perf_files.forked(70, (20, 22), (20, 20)), perf_files.ended(80, (20, 20)), perf_files.ended(90, (20, 22)),
    ]  # fmt: skip
    source = opened(tmp_path, perf_files.file(records, perf_files.features(), events))
    found = fired(source, "rawtp")
    assert [each[:4] for each in found] == [
        ("rawtp:::sched_process_fork", 50, 10, b"shell"),
        ("rawtp:::sched_process_exec", 60, 20, b"program"),
        ("rawtp:::sched_process_fork", 70, 20, b"program"),
        ("rawtp:::sched_process_exit", 80, 20, b"program"),
        ("rawtp:::sched_process_exit", 90, 20, b"program"),
    ]
    # The last thread ends the process.
    assert [struct.unpack("=QQ", each[4].context)[1] for each in found[3:]] == [0, 1]


def test_what_processes_map_is_told_in_its_place(tmp_path):
    source = opened(tmp_path, perf_files.file(perf_files.session()))
    kinds = [each for each in source.happenings() if not isinstance(each, RecordedFiring)]
    assert [type(each) for each in kinds] == [Mapped, Forked, Executed, Mapped, Exited]
    assert kinds[0].mapping.path == "/bin/shell"
    assert (kinds[0].mapping.start, kinds[0].mapping.end) == (0x1000, 0x2000)


def test_a_file_without_descriptions_of_its_events_says_so(tmp_path):
    events = perf_files.EVENTS[:1]
    with pytest.raises(PerfDataError, match="does not describe its trace events"):
        opened(tmp_path, perf_files.file([], told=[], events=events))


def test_a_file_of_another_processor_says_so(tmp_path):
    from sonde.formats import perf_features

    told = [(number, perf_features.text("aarch64") if number == 6 else content)
            for number, content in perf_files.features()]  # fmt: skip
    with pytest.raises(PerfDataError, match="recorded on aarch64"):
        opened(tmp_path, perf_files.file([], told))


def test_events_have_the_fields_that_the_file_describes(tmp_path):
    source = opened(tmp_path, perf_files.file(perf_files.session()))
    events = FiledTraceEvents(source.formats)
    assert events.readable
    assert events.groups() == ("sched", "syscalls", "raw_syscalls")
    assert events.groups_of("sched_switch") == ["sched"]
    assert events.number("sched", "sched_switch") == 1
    assert events.number("sched", "nothing") is None
    assert events.format("sched", "nothing") is None
    assert [(each.name, each.offset, each.size) for each in events.format("sched", "sched_switch")][:2] == [
        ("prev_comm", 8, 16), ("prev_pid", 24, 4),
    ]  # fmt: skip
