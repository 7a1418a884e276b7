"""Software events that are counted, such as page faults, of the traced threads: each is told, with its address."""

import shlex
import sys

import pytest
from support.bpf.bpf_objects import BOTH, compiled
from support.command.unprivileged import sonde

ENGINE = ("--engine", "embedded", "-q")
PAGES = 1009

TOUCHES = f"""
import ctypes, mmap, os, sys, threading
area = mmap.mmap(-1, 4096 * {PAGES})
area.madvise(mmap.MADV_NOHUGEPAGE)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
def touch(first):
    for number in range(first, {PAGES}, 2):
        area[4096 * number] = 1
threads = [threading.Thread(target=touch, args=(first,)) for first in (0, 1)]
for each in threads: each.start()
for each in threads: each.join()
print("at", start, flush=True)
"""


def touching():
    return shlex.join([sys.executable, "-c", TOUCHES])


@pytest.mark.share(1)
@pytest.mark.parametrize("probe", ["perf:software::faults-1", "cpc:::page_faults-user-1"])
def test_each_page_is_told_once(probe):
    """Two threads touch pages by turns, outside of the kernel."""
    text = f'{probe} {{ @[args[0]->addr / 4096] = count(); }} END {{ printa("%u %@u\\n", @); }}'
    lines = sonde(*ENGINE, "-xaggsize=8m", "-n", text, "-c", touching()).stdout.splitlines()
    start = next(int(line.split()[1]) for line in lines if line.startswith("at")) // 4096
    counts = {int(words[0]): int(words[1]) for words in map(str.split, lines) if len(words) == 2 and words[0] != "at"}
    assert [counts.get(start + number) for number in range(PAGES)] == [1] * PAGES


@pytest.mark.share(1)
@pytest.mark.parametrize("count", [1, 7, 100])
def test_each_thread_counts_so_far(count):
    """By CPU: what is left of a count at its end is nowhere. Several probes of one event fire together."""
    text = f"perf:software::faults-{count} {{ @one = count(); }} cpc:::page_faults-all-{count} {{ @other = count(); }}"
    text += 'perf:software::minor-faults-1 { @all = count(); } END { printa("%@u %@u %@u\\n", @one, @other, @all); }'
    *_, line = filter(str.strip, sonde(*ENGINE, "-n", text, "-c", touching()).stdout.splitlines())
    one, other, every = map(int, line.split())
    assert every >= PAGES
    assert one == other
    assert every // count - 8 <= one <= every // count + 1


@pytest.mark.parametrize(("other", "times"), [("cpc:::page_faults-user-1", 1), ("perf:software::faults-100", 100)])
def test_events_of_one_kind_are_told_apart(other, times):
    text = f'cpc:::page_faults-all-1 {{ all++; }} {other} {{ some++; }} END {{ printf("%d %d", all, some); }}'
    every, some = map(int, sonde(*ENGINE, "-n", text, "-c", touching()).stdout.splitlines()[-1].split())
    assert every >= PAGES
    assert every // times - 8 <= some <= every // times


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_objects_handle_faults(compiler):
    source = """
    struct { __uint(type, 2); __type(key, u32); __type(value, u64); __uint(max_entries, 1); } faults SEC(".maps");
    SEC("perf_event/software/page-faults/1") int fault(void *context)
    {
            u32 zero = 0;
            u64 *count = bpf_map_lookup_elem(&faults, &zero);
            if (count) __sync_fetch_and_add(count, 1);
            return 0;
    }
    """
    output = sonde("--engine", "embedded", "--object", compiled(source, compiler), "-c", touching()).stdout
    assert int(output.split()[-1]) >= PAGES


@pytest.mark.share(1)
@pytest.mark.parametrize("event", ["context-switches", "cpu-migrations"])
def test_what_happens_in_the_kernel_is_refused_where_it_is_not_permitted(event):
    with open("/proc/sys/kernel/perf_event_paranoid") as file:
        is_permitted = int(file.read()) < 2
    text = f"perf:software::{event}-1 {{ @ = count(); }}"
    done = sonde(*ENGINE, "-n", text, "-c", "true", status=0 if is_permitted else 1)
    assert is_permitted or "kernel.perf_event_paranoid" in done.stderr
