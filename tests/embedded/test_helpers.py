"""BPF helpers of the embedded engine, one by one."""

import signal
import struct
from errno import E2BIG, EEXIST, EFAULT, EINVAL, ENOENT, EOPNOTSUPP, EPERM, ERANGE

import pytest
from support.bpf.embedded_world import World

from sonde.arch.x86_64.address_space import FIVE_LEVELS, FOUR_LEVELS
from sonde.bpf import maps
from sonde.bpf.helpers import NUMBERS
from sonde.model.errors import EngineError
from sonde.runtime.helpers import table
from sonde.runtime.perf.packet_pieces import SkbPacket, XdpPacket

U64 = (1 << 64) - 1


@pytest.fixture
def world():
    return World()


def test_every_file_makes_the_helpers_that_the_table_says(world):
    from importlib import import_module

    for subject, names in table.SUBJECTS.items():
        made = import_module(f"sonde.runtime.helpers.{subject}").make(world.environment)
        assert set(made) == set(names.split())


def test_every_helper_takes_the_arguments_of_its_signature(world):
    from sonde.bpf.signatures import SIGNATURES
    from sonde.runtime.machine.execution import arity

    made = table.make_helpers(table.SUPPORTED, world.environment)
    arities = {number: len(SIGNATURES[number].arguments) for number in made if number in SIGNATURES}
    assert len(arities) > 40
    # Behind the format are up to three more, whatever they hold.
    arities[NUMBERS["trace_printk"]] = 5
    assert {number: arity(made[number]) for number in arities} == arities


def test_a_helper_that_there_is_not_is_refused_before_the_program_runs(world):
    with pytest.raises(EngineError, match="no helper bpf_sk_assign"):
        table.make_helpers([NUMBERS["map_lookup_elem"], NUMBERS["sk_assign"]], world.environment)


def test_clock_events_have_no_records_of_branches(world):
    at = world.place(bytes(32))
    assert world.call("read_branch_records", 0, at, 32, 0) == -ENOENT
    assert world.call("read_branch_records", 0, 0, 0, 1) == -ENOENT
    assert world.call("read_branch_records", 0, at, 32, 2) == -EINVAL


def test_the_current_task_is_told(world):
    at = world.place(b"\xff" * 24)
    assert world.call("get_current_pid_tgid") == 1234 << 32 | 1235
    assert world.call("get_current_uid_gid") == 100 << 32 | 1000
    assert world.call("get_current_comm", at, 20) == 0
    assert world.memory.read(at, 24) == b"a-long-comm-nam\0\0\0\0\0\xff\xff\xff\xff"
    assert world.call("get_current_comm", at, 4) == 0
    assert world.memory.read(at, 5) == b"a-l\0n"


def test_pids_are_those_of_the_namespace_that_the_session_names(world):
    world.environment.namespace = (4, 4026531836)
    at = world.place(b"\xff" * 8)
    assert world.call("get_ns_current_pid_tgid", 4, 4026531836, at, 8) == 0
    assert struct.unpack("=II", world.memory.read(at, 8)) == (1235, 1234)
    for arguments in [(5, 4026531836, at, 8), (4, 1, at, 8), (4, 4026531836, at, 4)]:
        world.memory.write(at, b"\xff" * 8)
        assert world.call("get_ns_current_pid_tgid", *arguments) == -EINVAL
        size = arguments[-1]
        assert world.memory.read(at, 8) == bytes(size) + b"\xff" * (8 - size)


def test_the_time_is_that_of_the_firing(world):
    from time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_TAI, clock_gettime_ns

    before = clock_gettime_ns(CLOCK_MONOTONIC)
    assert world.call("ktime_get_ns") >= before
    world.environment.now = 123456789
    assert world.call("ktime_get_ns") == 123456789
    assert 123456789 - world.call("ktime_get_coarse_ns") in range(100_000_000)
    asleep = clock_gettime_ns(CLOCK_BOOTTIME) - clock_gettime_ns(CLOCK_MONOTONIC)
    assert abs(world.call("ktime_get_tai_ns") - 123456789 - clock_gettime_ns(CLOCK_TAI) + before) < 10**9
    assert abs(world.call("ktime_get_boot_ns") - before - asleep) < 10**9, "this one goes on"
    world.environment.is_ending = lambda: True
    assert world.call("ktime_get_boot_ns") == (1 << 63) - 1


def test_a_signal_goes_to_the_current_task(world):
    sent = []
    world.environment.send_signal = lambda *what: sent.append(what) or 0
    assert world.call("send_signal", signal.SIGUSR1) == 0
    assert world.call("send_signal_thread", signal.SIGTERM) == 0
    assert sent == [(world.task, signal.SIGUSR1, False), (world.task, signal.SIGTERM, True)]
    assert world.call("send_signal", 65) == -EINVAL
    world.task.pid = 1
    assert world.call("send_signal", signal.SIGUSR1) == -EPERM
    assert len(sent) == 2


def test_memory_of_the_target_is_written(world):
    world.task.put(0x1000, b"before--")
    source = world.place(b"after---")
    assert world.call("probe_write_user", 0x1000, source, 5) == 0
    assert world.task.read_memory(0x1000, 8) == b"aftere--"
    assert world.call("probe_write_user", 0x2000, source, 8) == -EFAULT
    assert world.call("probe_write_user", 0x7FFF_FFFF_EFFF, source, 8) == -EFAULT


def test_loop_calls_until_told_to_stop(world):
    calls = []
    world.environment.functions[77] = lambda index, context: calls.append((index, context)) or index == 3
    assert world.call("loop", 10, 77, 5, 0) == 4
    assert calls == [(index, 5) for index in range(4)]
    assert world.call("loop", 2, 77, 5, 0) == 2
    assert world.call("loop", 0, 77, 5, 0) == 0
    assert world.call("loop", (1 << 23) + 1, 77, 5, 0) == -E2BIG
    assert world.call("loop", 1, 77, 5, 1) == -EINVAL


@pytest.mark.parametrize("kind", [maps.HASH, maps.PERCPU_HASH, maps.LRU_HASH])
def test_elements_may_be_deleted_while_they_are_visited(world, kind):
    made = world.map(kind, 4, 8, 10)
    for number in range(6):
        made.update(struct.pack("=I", number), struct.pack("=Q", number))
    visited = []

    def function(handle, key, value, context):
        number = struct.unpack("=I", world.memory.read(key, 4))[0]
        assert (handle, context) == (made.handle, 9)
        assert world.memory.read(value, 8) == struct.pack("=Q", number)
        visited.append(number)
        for other in (number, number ^ 1):
            made.calls["map_delete_elem"](world.place(struct.pack("=I", other)))
        return 0

    world.environment.functions[77] = function
    assert world.call("for_each_map_elem", made.handle, 77, 9, 0) == 3 == len(visited)
    assert made.items() == []


def test_visiting_stops_when_told_to(world):
    made = world.map(maps.ARRAY, 4, 8, 10)
    world.environment.functions[77] = lambda handle, key, value, context: world.memory.read(key, 1) == b"\4"
    assert world.call("for_each_map_elem", made.handle, 77, 0, 0) == 5
    assert world.call("for_each_map_elem", made.handle, 77, 0, 1) == -EINVAL


def test_visits_may_be_nested(world):
    made, pairs = world.map(maps.ARRAY, 4, 8, 2), []

    def outer(handle, key, value, context):
        def inner(handle, inner_key, value, context):
            pairs.append((world.memory.read(key, 1)[0], world.memory.read(inner_key, 1)[0]))
            return 0

        world.environment.functions[78] = inner
        helpers[NUMBERS["for_each_map_elem"]](handle, 78, 0, 0)
        return 0

    world.environment.functions[77] = outer
    helpers = table.make_helpers([NUMBERS["for_each_map_elem"]], world.environment)
    assert helpers[NUMBERS["for_each_map_elem"]](made.handle, 77, 0, 0) == 2
    assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_only_the_first_cpu_has_values(world):
    made = world.map(maps.PERCPU_ARRAY, 4, 8, 2)
    key = world.place(struct.pack("=I", 1))
    assert world.call("map_lookup_percpu_elem", made.handle, key, 0) == made.lookup(struct.pack("=I", 1))
    assert world.call("map_lookup_percpu_elem", made.handle, key, 1) == 0


def test_a_stack_is_as_deep_as_its_place(world):
    world.task.stack = tuple(range(100, 110))
    at = world.place(b"\xff" * 128)
    user = 1 << 8
    assert world.call("get_stack", 0, at, 32, user) == 32
    assert struct.unpack("=5Q", world.memory.read(at, 40)) == (100, 101, 102, 103, U64)
    assert world.call("get_stack", 0, at, 120, user | 7) == 24
    assert struct.unpack("=16Q", world.memory.read(at, 128)) == (107, 108, 109, *[0] * 12, U64)
    assert world.call("get_stack", 0, at, 32, user | 11) == -EFAULT
    assert world.call("get_stack", 0, at, 33, user) == -EINVAL
    assert world.call("get_stack", 0, at, 32, 1 << 12) == -EINVAL
    assert world.memory.read(at, 33) == bytes(33)
    # There is no kernel.
    assert world.call("get_stack", 0, at, 32, 0) == 0
    assert world.call("get_task_stack", world.task.address + 8, at, 32, user) == -EOPNOTSUPP
    assert world.call("get_task_stack", world.task.address, at, 32, user) == 32


def test_a_stack_has_a_number(world):
    world.task.stack = (1, 2, 3)
    made = world.map(maps.STACK_TRACE, 4, 80, 100)
    number = world.call("get_stackid", 0, made.handle, 1 << 8)
    assert made.items() == [(struct.pack("=I", number), struct.pack("=10Q", 1, 2, 3, *[0] * 7))]
    assert world.call("get_stackid", 0, made.handle, 1 << 8 | 3) == -EFAULT
    assert world.call("get_stackid", 0, made.handle, 0) == -EFAULT
    assert world.call("get_stackid", 0, made.handle, 1 << 11) == -EINVAL


def test_a_tail_call_needs_a_program_and_a_call_that_is_left(world):
    made = world.map(maps.PROG_ARRAY, 4, 4, 3)
    call = table.make_helpers([NUMBERS["tail_call"]], world.environment)[NUMBERS["tail_call"]]
    assert made.set(1, lambda context: lambda: context + 1) == 0
    assert call(41, made.handle, 1)() == 42
    assert call(41, made.handle, 1 << 32 | 1)() == 42
    assert call(41, made.handle, 0) is None
    assert call(41, made.handle, 3) is None
    world.environment.tail_calls = 32
    assert call(41, made.handle, 1) is not None
    assert call(41, made.handle, 1) is None
    assert [made.set(3, None), made.set(0, None, 1)] == [-E2BIG, -EINVAL]


def test_bytes_of_packets_are_taken_out_of_all_pieces(world):
    at = world.place(b"\xff" * 12)
    world.environment.packet = SkbPacket(memoryview(b"abcd"), (memoryview(b"efgh"),), (SkbPacket(memoryview(b"ij")),))
    assert world.call("skb_load_bytes", 0, 2, at, 7) == 0
    assert world.memory.read(at, 8) == b"cdefghi\xff"
    assert world.call("skb_load_bytes", 0, 4, at, 7) == -EFAULT
    assert world.memory.read(at, 8) == bytes(7) + b"\xff"
    assert world.call("skb_load_bytes", 0, 1 << 31, at, 1) == -EFAULT
    world.environment.packet = XdpPacket(memoryview(b"abcd"), (memoryview(b"efgh"),))
    assert world.call("xdp_get_buff_len", 0) == 8
    assert world.call("xdp_load_bytes", 0, 3, at, 5) == 0
    assert world.memory.read(at, 8) == b"defgh\0\0\xff"
    assert world.call("xdp_load_bytes", 0, 4, at, 5) == -EINVAL
    assert world.call("xdp_load_bytes", 0, 1 << 16, at, 5) == -EFAULT
    assert world.memory.read(at, 8) == b"defgh\0\0\xff"


def test_an_event_array_writes_to_its_event(world):
    from sonde.runtime.perf.attributes import Attributes
    from sonde.runtime.perf.events import OpenPerfEvent

    made = world.map(maps.PERF_EVENT_ARRAY, 4, 4, 2)
    event = OpenPerfEvent(Attributes())
    event.map(1)
    made.set(0, event)
    at = world.place(b"payload-")
    current = 0xFFFF_FFFF
    assert world.call("perf_event_output", 0, made.handle, current, at, 8) == 0
    assert bytes(event.ring.memory).count(b"payload-") == 1
    assert world.call("perf_event_output", 0, made.handle, 1, at, 8) == -ENOENT
    assert world.call("perf_event_output", 0, made.handle, 2, at, 8) == -E2BIG
    assert world.call("perf_event_output", 0, made.handle, 1 << 32, at, 8) == -EINVAL


def test_queues_are_reached_by_their_helpers(world):
    made = world.map(maps.QUEUE, 0, 4, 1)
    at = world.place(b"one.")
    assert world.call("map_push_elem", made.handle, at, 0) == 0
    assert world.call("map_push_elem", made.handle, at, 0) == -E2BIG
    assert world.call("map_push_elem", made.handle, at, 1) == -EINVAL
    world.memory.write(at, b"junk")
    assert world.call("map_peek_elem", made.handle, at) == 0
    assert world.memory.read(at, 4) == b"one."
    assert world.call("map_pop_elem", made.handle, at) == 0
    assert world.call("map_pop_elem", made.handle, at) == -ENOENT
    assert world.memory.read(at, 4) == bytes(4)


def test_storage_is_the_tasks(world):
    made = world.map(maps.TASK_STORAGE, 4, 8, 0, maps.F_NO_PREALLOC, typed=True)
    address = world.call("task_storage_get", made.handle, 0x55, 0, 1)
    assert address
    assert world.call("task_storage_get", made.handle, 0x55, 0, 0) == address
    assert world.call("task_storage_delete", made.handle, 0x55) == 0
    assert world.call("task_storage_delete", made.handle, 0x55) == -ENOENT


def test_maps_are_reached_by_their_handles(world):
    made = world.map(maps.HASH, 4, 4, 2)
    key, value = world.place(b"key."), world.place(b"val.")
    assert world.call("map_lookup_elem", made.handle, key) == 0
    assert world.call("map_update_elem", made.handle, key, value, 1) == 0
    assert world.call("map_update_elem", made.handle, key, value, 1) == -EEXIST
    assert world.memory.read(world.call("map_lookup_elem", made.handle, key), 4) == b"val."
    assert world.call("map_delete_elem", made.handle, key) == 0
    assert made.items() == []


def test_a_random_number_is_any_u32(world):
    numbers = [world.call("get_prandom_u32") for _ in range(50)]
    assert len(set(numbers)) > 45
    assert min(numbers) >= 0
    assert 1 << 24 < max(numbers) < 1 << 32


def test_numbers_that_are_too_large_are_no_result(world):
    text, at = world.place(b"9223372036854775808\0"), world.place(b"\xff" * 8)
    assert world.call("strtol", text, 20, 10, at) == -ERANGE
    assert world.memory.read(at, 8) == bytes(8)
    assert world.call("strtoul", text, 20, 10, at) == 19
    assert world.memory.read(at, 8) == struct.pack("=Q", 1 << 63)


PAGE_END = 0x5000
"""The page before it is the target's, the one behind it is not there."""


@pytest.mark.parametrize(
    ("distance", "text", "size", "length", "left"),
    [
        (100, b"abc\0defgh", 20, 4, b"abc\0\0\0\0\0" + b"\xff" * 12),
        (100, b"abc\0defgh", 7, 4, b"abc\0\xff\xff\xff"),
        (100, b"abcdefg\0hi", 20, 8, b"abcdefg\0" + b"\xff" * 12),
        (100, b"abcdefghij", 5, 5, b"abcd\0"),
        (100, b"abcdefghij", 1, 1, b"\0"),
        (4, b"abc\0", 20, 4, b"abc\0" + b"\xff" * 16),
        (3, b"abc", 3, 3, b"ab\0"),
        (3, b"abc", 4, -EFAULT, bytes(4)),
        (-8, b"", 4, -EFAULT, bytes(4)),
        (100, b"abc", 0, 0, b""),
    ],
)
def test_a_string_of_the_target_is_copied_with_what_the_kernel_leaves_behind_it(
    world, distance, text, size, length, left
):
    world.task.put(PAGE_END - 4096, b"z" * 4096)
    if text:
        world.task.put(PAGE_END - distance, text)
    at = world.place(b"\xff" * 32)
    assert world.call("probe_read_user_str", at, size, PAGE_END - distance) == length
    assert world.memory.read(at, size) == left
    assert world.memory.read(at + size, 32 - size) == b"\xff" * (32 - size)
    world.memory.write(at, b"\xff" * 32)
    assert world.call("probe_read_str", at, size, PAGE_END - distance) == length


def test_a_string_may_go_over_pages(world):
    world.task.put(PAGE_END - 4096, b"x" * 9000 + b"\0")
    at = world.place(b"\xff" * 10000)
    assert world.call("probe_read_user_str", at, 10000, PAGE_END - 4096) == 9001
    assert world.memory.read(at, 9002) == b"x" * 9000 + b"\0\0"


@pytest.mark.parametrize("helper", ["probe_read_user", "probe_read", "copy_from_user"])
def test_what_cannot_be_read_of_the_target_is_zeros(world, helper):
    world.task.put(0x1000, b"abcdefgh")
    at = world.place(b"\xff" * 8)
    assert world.call(helper, at, 4, 0x1000) == 0
    assert world.memory.read(at, 8) == b"abcd\xff\xff\xff\xff"
    assert world.call(helper, at, 6, 0x1FFE) == -EFAULT
    assert world.memory.read(at, 8) == bytes(6) + b"\xff\xff"


def test_kernel_memory_is_what_the_session_has(world):
    source, at = world.place(b"abc\0def"), world.place(b"\xff" * 8)
    assert world.call("probe_read_kernel", at, 3, source + 4) == 0
    assert world.memory.read(at, 4) == b"def\xff"
    for address, error in [(source + 5, EFAULT), (0, ERANGE), (0x1000, ERANGE), (U64 - 4095, EFAULT)]:
        world.memory.write(at, b"\xff" * 8)
        assert world.call("probe_read_kernel", at, 7, address) == -error
        assert world.memory.read(at, 8) == bytes(7) + b"\xff"
    assert world.call("probe_read_kernel_str", at, 8, source) == 4
    assert world.memory.read(at, 8) == b"abc\0\0\0\0\xff"
    assert world.call("probe_read_kernel_str", at, 8, source + 4) == -EFAULT
    assert world.memory.read(at, 8) == bytes(8)


SPACES = pytest.mark.parametrize(
    "addresses", [FOUR_LEVELS, FIVE_LEVELS, FOUR_LEVELS._replace(bits=57)], ids=["four", "five", "four of five"]
)


@SPACES
@pytest.mark.parametrize("helper", ["probe_read_kernel", "probe_read_kernel_str"])
def test_addresses_without_memory_are_refused_as_on_such_a_machine(helper, addresses):
    world = World(addresses)
    at = world.place(b"\xff" * 8)
    for address in (0, 0x8000_0000_0000, 1 << 56, 0xFF00_0000_0000_0000, 0xFFFF_8888_0000_0000, 0xFFFF_FFFF_FF60_0000):
        assert world.call(helper, at, 8, address) == -(EFAULT if addresses.kernel_tries(address) else ERANGE)


@SPACES
def test_memory_of_the_target_goes_to_where_the_machine_ends_it(addresses):
    world = World(addresses)
    at = world.place(b"\xff" * 8)
    world.task.put(addresses.user_end - 8, b"the end\0")
    world.task.put(addresses.user_end, b"not the target's")
    for helper in ("probe_read_user", "probe_read", "copy_from_user"):
        world.memory.write(at, bytes(8))
        assert world.call(helper, at, 8, addresses.user_end - 8) == 0
        assert world.memory.read(at, 8) == b"the end\0"
    assert world.call("probe_read_user_str", at, 8, addresses.user_end - 4) == 4
    assert world.call("probe_read_user", at, 8, addresses.user_end - 7) == -EFAULT
    assert world.call("probe_write_user", addresses.user_end - 7, at, 8) == -EFAULT


def test_memory_of_another_task_is_not_read(world):
    world.task.put(0x1000, b"abcdefgh")
    at = world.place(b"\xff" * 8)
    assert world.call("copy_from_user_task", at, 8, 0x1000, world.task.address, 0) == 0
    assert world.memory.read(at, 8) == b"abcdefgh"
    assert world.call("copy_from_user_task", at, 8, 0x1000, world.task.address + 8, 0) == -EFAULT
    assert world.memory.read(at, 8) == bytes(8)
    assert world.call("copy_from_user_task", at, 8, 0x1000, world.task.address, 1) == -EINVAL
