"""What the kernel keeps of a sample, as programs read it: compared with what the process itself finds out."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from support.command.command import build, sonde, table
from support.machine import packages

PAGES, PLACE = 101, 0x200000000000
TOUCHING = f"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{{
    char *at = mmap((void *){PLACE:#x}, {PAGES} << 12, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    madvise(at, {PAGES} << 12, MADV_NOHUGEPAGE);
    int file = open("/proc/self/pagemap", O_RDONLY);
    for (long page = 0; page < {PAGES}; page++) {{
        at[page << 12] = 1;
        unsigned long entry = 0;
        pread(file, &entry, 8, (({PLACE:#x} >> 12) + page) * 8);
        printf("own %lx %lx\\n", {PLACE:#x} + (page << 12), (entry & ((1UL << 55) - 1)) << 12);
    }}
    return 0;
}}
"""
"""Touches that many pages at that place, and prints where each is in the machine's memory."""


@pytest.fixture
def touching(tmp_path):
    return shlex.quote(build(tmp_path, "touching", TOUCHING))


def pairs(word, text):
    return [(int(at, 16), int(to, 16)) for at, to in re.findall(rf"^{word} ([0-9a-f]+) ([0-9a-f]+)$", text, re.M)]


FAULTS = f"cpc:::minor_faults-all-1 /args[0]->addr >= {PLACE:#x} && args[0]->addr < {PLACE + (PAGES << 12):#x}/"


def test_the_place_in_memory_is_what_the_process_sees(touching):
    """A fault that has been dealt with: the page is there when the program runs."""
    text = f'{FAULTS} {{ printf("seen %x %x\\n", args[0]->addr, args[0]->phys_addr); }}'
    done = sonde("-qn", text, "-c", touching)
    assert pairs("seen", done.stdout) == pairs("own", done.stdout)
    assert len(pairs("own", done.stdout)) == PAGES


@packages.needs("perf")
def test_what_a_program_reads_is_in_the_samples_that_it_lets_through(touching, tmp_path):
    file = str(tmp_path / "p.data")
    text = f"{FAULTS} {{ @ = max(args[0]->phys_addr + args[0]->cgroup + args[0]->data_page_size); sample(); }}"
    done = sonde("record", "-qn", text, "-o", file, "--", *shlex.split(touching))
    shown = subprocess.run(
        ["perf", "script", "-i", file, "-F", "addr,phys_addr,data_page_size"], capture_output=True, text=True
    )
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert [(int(addr, 16), int(physical, 16)) for addr, physical, _ in rows] == pairs("own", done.stdout)
    assert {size for *_, size in rows} == {"4K"}
    assert len(re.findall(r"cpc:::minor_faults-all-1", sonde("read", file).stdout)) == PAGES


def test_who_and_when_are_those_of_the_program(touching):
    """Of each fault of a process; perf's time is that of CLOCK_MONOTONIC, a little earlier than the program's."""
    text = """cpc:::minor_faults-all-1 {
        @[args[0]->pid == pid, args[0]->tid == tid, args[0]->cpu == cpu, args[0]->data_page_size == 4096] = count();
        @late = max(timestamp - args[0]->time); @early = min(timestamp - args[0]->time);
        @fields[args[0]->type, args[0]->sample_flags & args[0]->type] = count();
        @event[args[0]->id != 0, args[0]->dyn_size] = count(); }"""
    done = sonde("-qn", text, "-c", touching)
    rows = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("own")]
    (who,) = (row for row in rows if len(row) == 5)
    assert who[:4] == ["1", "1", "1", "1"]
    latest, earliest = (int(row[0]) for row in rows if len(row) == 1)
    assert 0 <= earliest <= latest < 10**9
    ((wanted, filled, _), (has_number, dynamic, _)) = (row for row in rows if len(row) == 3)
    tid, time, cpu, identifier, data_page = 1 << 1, 1 << 2, 1 << 7, 1 << 16, 1 << 22
    assert wanted == filled == str(tid | time | cpu | identifier | data_page)
    assert (has_number, dynamic) == ("1", "0")


CGROUPS = """
import os, subprocess, sys
place, group, *command = sys.argv[1:]
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
subprocess.run(["mount", "-t", "cgroup2", "none", place], check=True)
path = f"{place}/{group}"
os.mkdir(path)
try:
    print("cgroup", os.stat(path).st_ino, flush=True)
    script = 'echo $$ > "$0" && exec "$@"'
    subprocess.run(["sh", "-c", script, f"{path}/cgroup.procs", *command], check=True)
finally:
    os.rmdir(path)
"""


def test_the_cgroup_is_the_number_of_its_directory(touching, tmp_path):
    """In a cgroup of the test's own, whose hierarchy is mounted for it alone."""
    script, place = tmp_path / "cgroups.py", tmp_path / "mounted"
    script.write_text(CGROUPS)
    place.mkdir()
    words = [sys.executable, "-IS", str(script), str(place), f"sonde-test-{os.getpid()}", *shlex.split(touching)]
    work = shlex.join(["unshare", "-m", *words])
    done = sonde("-qn", f"{FAULTS} {{ @[args[0]->cgroup] = count(); }}", "-c", work)
    number = re.search(r"^cgroup (\d+)$", done.stdout, re.M)[1]
    rows = "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("cgroup", "own")))
    assert table(rows) == {(number,): PAGES}
