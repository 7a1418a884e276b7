"""What a BPF object writes faster than it is read is told of, and what it counts in two ways is too."""

import re
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command import command
from support.command.command import unwrapped
from support.machine import packages

CALLS = 60_000
LOOP = f"'{sys.executable}' -c 'import os; [os.getppid() for _ in range({CALLS})]'"

SOURCE = """
const volatile u32 target;
struct { __uint(type, 27); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } array SEC(".maps");
u64 written, refused, times;
SEC("tracepoint/syscalls/sys_enter_getppid") int event(void *context)
{
    char text[TEXT] = {};
    if (bpf_get_current_pid_tgid() >> 32 != target)
        return 0;
    for (int i = 0; i < TURNS; i++) {
        if (WRITE)
            refused++;
        else
            written++;
    }
    return 0;
}
"""
TO_RING = "bpf_ringbuf_output(&ring, text, sizeof text, 0)"
TO_ARRAY = "bpf_perf_event_output(context, &array, 0xffffffffULL, text, sizeof text)"


def sonde_with(source, compiler, calls):
    loop = LOOP.replace(str(CALLS), str(calls))
    return command.sonde("--object", compiled(source, compiler), "-D", "target=$target", "--dump", "-c", loop)


def flooded(write, compiler, turns=8, calls=CALLS):
    source = SOURCE.replace("WRITE", write).replace("TEXT", "200").replace("TURNS", str(turns))
    done = sonde_with(source, compiler, calls)
    counts = {name: int(value) for name, value in re.findall(r"^(written|refused) = (\d+)$", done.stdout, re.M)}
    shown = len(re.findall(r"^(?:ring|array): ", done.stdout, re.M))
    return counts, shown, unwrapped(done.stderr)


@pytest.mark.long
@pytest.mark.parametrize("compiler", BOTH)
def test_each_record_of_an_array_is_shown_or_counted(compiler):
    """Also those behind the last one that found room."""
    counts, shown, told = flooded(TO_ARRAY, compiler)
    lost = sum(map(int, re.findall(r"(\d+) records? of array lost", told)))
    assert counts["written"] == shown
    assert counts["refused"] == lost > 0


NESTED = """
const volatile u32 target;
u64 calls, prints;
SEC("tracepoint/syscalls/sys_enter_getppid") int call(void *context)
{
    if (bpf_get_current_pid_tgid() >> 32 != target)
        return 0;
    calls++;
    bpf_printk("called");
    return 0;
}
SEC("raw_tp/bpf_trace_printk") int print(void *context)
{
    if (bpf_get_current_pid_tgid() >> 32 != target)
        return 0;
    prints++;
    bpf_printk("printed");
    return 0;
}
"""
"""The second program's own print would fire it once more."""


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_firings_within_a_run_of_the_same_program_are_told(compiler):
    done = sonde_with(NESTED, compiler, 37)
    counts = dict(re.findall(r"^(calls|prints) = (\d+)$", done.stdout, re.M))
    assert counts == {"calls": "37", "prints": "37"}
    assert re.findall(r"(\d+) firings lost: the program was running on that CPU already", unwrapped(done.stderr)) == [
        "37"
    ]


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_a_ring_buffer_that_was_full_is_told(compiler):
    counts, shown, told = flooded(TO_RING, compiler)
    assert counts["written"] == shown
    assert counts["refused"] > 0
    assert "ring buffer ring was full" in told
    assert "--map ring=8192" in told


def test_a_ring_buffer_that_had_room_is_not():
    counts, shown, told = flooded(TO_RING, "gcc", 1, 9)
    assert (counts, shown) == ({"written": 9, "refused": 0}, 9)
    assert "full" not in told


TWICE = """
u64 first, second;
SEC("tp_btf/sched_process_exit") int typed(u64 *context) { first++; return 0; }
SEC("raw_tp/sched_process_exit") int raw(u64 *context) { second++; return 0; }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("words", [(), ("--program", "raw=off")], ids=["both", "one"])
def test_programs_that_count_one_event_twice_are_named(words):
    packages.require("gcc")
    done = command.sonde("--object", compiled(TWICE, "gcc"), "-c", "true", *words)
    told = unwrapped(done.stderr)
    assert ("programs typed (tp_btf/sched_process_exit) and raw (raw_tp/sched_process_exit)" in told) == (not words)
    assert ("--program typed=off or --program raw=off" in told) == (not words)
