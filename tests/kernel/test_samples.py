"""sample(): the samples that a program lets through, counted by the program and by whoever reads them."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.command.command import sonde, start, table

from sonde.engines.kernel.perf_events import TYPE_SOFTWARE, Opening, enable, open_overflow
from sonde.formats.perf_events import SAMPLE_CALLCHAIN
from sonde.model.samples import SAMPLE_TYPE

WORKING = Path(__file__).parents[1] / "programs" / "working_children.py"
FAMILY = f"'{sys.executable}' -IS '{WORKING}' grandchildren"


class Sampled:
    """What one run has shown: sample lines as (thread name, process, CPU, probe), those that were lost, the table of
    its aggregations."""

    def __init__(self, done):
        form = re.compile(r"^ *(.+?) +(\d+)/\d+ +\[(\d+)\] +\d+\.\d{6}: +\d+ (\S+): \S.*$")
        lines = done.stdout.splitlines()
        self.samples = [found.groups() for line in lines if (found := form.match(line))]
        self.table = table("\n".join(line for line in lines if not form.match(line)))
        self.told = done.stderr
        self.lost = sum(map(int, re.findall(r"(\d+) sample drops?", done.stderr)))

    def __len__(self):
        """How many samples were let through."""
        return len(self.samples) + self.lost


@pytest.mark.long
def test_samples_of_a_process_and_what_it_starts_are_as_many_as_the_program_counted():
    """Of all its descendants, though nothing but the first process was there when tracing began."""
    text = "profile-1999 { @[pid] = count(); sample(); }"
    done = Sampled(sonde("-xscope=processes", "-qn", text, "-c", FAMILY))
    assert len(done) == sum(done.table.values()) > 100, done.told
    assert len(done.table) >= 7
    if not done.lost:
        pids = [pid for _, pid, _, _ in done.samples]
        assert done.table == {(pid,): pids.count(pid) for pid in set(pids)}
    assert {name for *_, name in done.samples} == {"profile:::profile-1999"}


TOUCHING = """
import mmap
pages = mmap.mmap(-1, 4096 * 3001)
pages.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(3001):
    pages[4096 * page] = 1
"""
"""Touches so many pages."""
SLEEPING = "import time\nfor _ in range(301): time.sleep(0.0001)"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("event", "work"), [("page_faults", TOUCHING), ("minor_faults", TOUCHING), ("context_switches", SLEEPING)]
)
def test_who_lets_samples_through_counts_no_more_than_who_does_not(tmp_path, event, work):
    """Each seventh of what the kernel counts one by one, sampled or not."""
    script = tmp_path / "work.py"
    script.write_text(work)
    counted = {}
    for action in ("", "sample();"):
        text = f"cpc:::{event}-all-7 {{ @[args[0]->period] = count(); {action} }}"
        done = Sampled(sonde("-xsamplesize=4m", "-qn", text, "-c", f"'{sys.executable}' -IS {script}"))
        assert set(done.table) == {("7",)}
        counted[action] = done.table[("7",)]
    assert len(done) == counted["sample();"]
    assert abs(counted["sample();"] - counted[""]) < counted[""] / 10
    assert counted[""] > 301 // 8


@pytest.mark.long
def test_a_predicate_is_a_filter_of_samples():
    """Two clauses let samples through, by different predicates; what neither does is dropped."""
    text = """profile-1999 { @["all"] = count(); this->wanted = 0; }
              profile-1999 /pid % 3 == 0/ { sample(); this->wanted = 1; }
              profile-1999 /pid % 3 == 1/ { sample(); this->wanted = 1; }
              profile-1999 /this->wanted/ { @["wanted"] = count(); }"""
    done = Sampled(sonde("-xscope=processes", "-qn", text, "-c", FAMILY))
    assert len(done) == done.table[("wanted",)] < done.table[("all",)], done.told
    assert not [pid for _, pid, _, _ in done.samples if int(pid) % 3 == 2]


@pytest.mark.long
def test_two_clocks_of_one_program_are_told_apart_in_children():
    """What a process starts inherits no cookie."""
    text = "profile-?99 { @[probename] = count(); sample(); }"
    done = Sampled(sonde("-xscope=processes", "-qn", text, "-c", FAMILY))
    assert len(done) == sum(done.table.values())
    assert 0 < done.table[("profile-199",)] * 2 < done.table[("profile-499",)]
    if not done.lost:
        names = [name.rpartition(":")[2] for *_, name in done.samples]
        assert done.table == {(name,): names.count(name) for name in set(names)}


@pytest.mark.long
def test_samples_of_the_whole_system_are_as_many_as_the_program_counted():
    """Without the option profile-n is DTrace's, -c or not."""
    text = "profile-499 { @ = count(); sample(); }"
    done = Sampled(sonde("-qn", text, "-c", FAMILY))
    assert len(done) == done.table[()]


@pytest.mark.long
def test_a_sample_is_let_through_from_a_loop():
    """A loop is a function of its own, whose decision has to come back."""
    text = """profile-1999 { for (this->i = 0; this->i < 4; this->i++) { if (this->i == 2 && pid % 2) sample(); } }
              profile-1999 /pid % 2/ { @ = count(); }"""
    done = Sampled(sonde("-xscope=processes", "-qn", text, "-c", FAMILY))
    assert len(done) == done.table.get((), 0)
    assert all(int(pid) % 2 for _, pid, _, _ in done.samples)


def test_scope_of_processes_needs_some():
    error = sonde("-xscope=processes", "-n", "profile-97 { sample(); }", status=1).stderr
    assert "scope=processes" in error
    assert "-c or -p" in error


@pytest.mark.long
def test_stacks_are_the_same_with_call_chains_in_samples():
    """Where a sample has a call chain the kernel's helper gives that, marks and all, for the program's own stack."""
    text = """profile-499 /arg0/ { @["kernel", (uint64_t)caller >= 0xfffffffffffff000] = count(); sample(); }
              profile-499 /arg1/ { @["user", ucaller >= 0xfffffffffffff000] = count(); sample(); }
              profile-499 { @stacks[ustack(2)] = count(); @stacks2[stack(2)] = count(); }"""
    done = sonde("-xcallchain", "-xscope=processes", "-qn", text, "-c", FAMILY)
    assert "0xffffffffffff" not in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[:1] in (["kernel"], ["user"])]
    assert {row[1] for row in rows} == {"0"}
    assert {row[0] for row in rows} == {"kernel", "user"}, done.stderr


def test_what_finds_the_ring_full_is_counted_to_the_last_sample():
    """Nobody reads for a second, so that a ring of two pages overflows, in the end as well."""
    text = "profile-4999 { @ = count(); sample(); }"
    words = ("-xsamplesize=5000", "-xswitchrate=1s", "-xscope=processes", "-qn", text)
    done = Sampled(sonde(*words, "-c", FAMILY))
    assert done.lost > 0, done.told
    assert len(done.samples) > 0
    assert len(done) == done.table[()]


THREADS = """
import os, sys, threading, time
def work():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
gates = [threading.Event(), threading.Event()]
def waiting(gate):
    gate.wait()
    work()
    later = threading.Thread(target=work)
    later.start()
    later.join()
old = [threading.Thread(target=waiting, args=(gate,)) for gate in gates]
for each in old:
    each.start()
print("there", flush=True)
sys.stdin.readline()
for gate in gates:
    gate.set()
if not os.fork():
    work()
    os._exit(0)
os.wait()
for each in old:
    each.join()
"""


@pytest.mark.long
def test_threads_that_were_there_and_what_they_start_are_sampled(tmp_path):
    """Two threads, a thread of each that is made later, and a child."""
    script = tmp_path / "threads.py"
    script.write_text(THREADS)
    words = [sys.executable, "-IS", str(script)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as traced:
        traced.stdout.readline()
        text = """BEGIN { printf("begun\\n"); }
                  profile-997 { @[tid] = count(); sample(); }"""
        tracer = start("-xscope=processes", "-qn", text, "-p", str(traced.pid), text=True)
        first = tracer.stdout.readline()
        assert first == "begun\n"
        traced.stdin.write("\n")
        traced.stdin.flush()
        out, err = tracer.communicate()
    assert tracer.returncode == 0, err
    form = re.compile(r"^ *\S+ +\d+/(\d+) +\[\d+\] ")
    tids = [found[1] for line in out.splitlines() if (found := form.match(line))]
    rows = table("\n".join(line for line in out.splitlines() if not form.match(line)))
    assert "sample drop" not in err
    assert rows == {(tid,): tids.count(tid) for tid in set(tids)}
    assert len([count for count in rows.values() if count > 20]) >= 5


PAIR = (
    'BEGIN { printf("ready\\n"); } perf:::page-faults-1 /pid == $target/ { @["1"] = count(); sample(); } '
    'perf:::page-faults-4 /pid == $target/ { @["4"] = count(); sample(); }'
)
PAGE_FAULTS = 2
"""PERF_COUNT_SW_PAGE_FAULTS."""


@pytest.mark.parametrize("is_watched", [False, True])
def test_samples_belong_to_the_program_that_let_them_through(is_watched):
    """Two programs watch one software event, and perhaps somebody else, whose event the kernel comes to first."""
    waiting = "import sys; sys.stdin.readline()\n" + TOUCHING
    command = [sys.executable, "-ISc", waiting]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as process,
        start("-qn", PAIR, "-p", str(process.pid), text=True) as tracing,
    ):
        assert tracing.stdout.readline() == "ready\n"
        opening = Opening(TYPE_SOFTWARE, (PAGE_FAULTS, 0, 0), 1, SAMPLE_TYPE | SAMPLE_CALLCHAIN, True)
        others = [open_overflow(opening, process.pid, -1)] if is_watched else []
        for each in others:
            enable(each)
        process.communicate(b"\n")
        output, errors = tracing.communicate()
        for each in others:
            os.close(each)
    done = Sampled(subprocess.CompletedProcess((), 0, output, errors))
    assert done.told == ""
    found = Counter(name.rpartition("-")[2] for *_, name in done.samples)
    assert {(key,): count for key, count in found.items()} == done.table
    # One of the events may have been there a fault earlier.
    assert abs(found["1"] // 4 - found["4"]) <= 1 < 3000 // 4 < found["1"] // 4
