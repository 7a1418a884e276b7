"""Objects' programs that handle overflows of perf events: how often they run, and which samples they let through, to
lines and to a file that perf reads."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.bpf.bpf_objects import BOTH, HEADERS, compiled
from support.command.command import build, sonde, unwrapped
from support.machine import packages

from sonde import Message, load_object

needs_perf = packages.needs("perf")

PAGES, PLACE = 1009, 0x200000000000
TOUCHING = f"""
#include <sys/mman.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int argc, char **argv)
{{
    char *at = mmap((void *){PLACE:#x}, {PAGES}L << 12, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    madvise(at, {PAGES}L << 12, MADV_NOHUGEPAGE);
    for (int child = 1; child < argc; child++)
        if (!fork()) {{
            for (long page = 0; page < {PAGES}; page++)
                at[page << 12] = 1;
            _exit(0);
        }}
    for (long page = 0; argc == 1 && page < {PAGES}; page++)
        at[page << 12] = 1;
    while (wait(0) > 0)
        ;
    return 0;
}}
"""
"""Touches that many pages at that place, itself or, for each argument, in a child."""

FAULTS = f"""
struct sample {{ u64 registers[21], period, address; }};
u64 all, wanted, periods;
SEC("perf_event/software/page-faults/1") int fault(struct sample *sample)
{{
    __sync_fetch_and_add(&all, 1);
    if (sample->address - {PLACE:#x}ULL >= {PAGES}ULL << 12)
        return 0;
    __sync_fetch_and_add(&wanted, 1);
    __sync_fetch_and_add(&periods, sample->period);
    return 1;
}}
"""
LINE = re.compile(r"^ *(.+?) +(\d+)/\d+ +\[(\d+)\] +\d+\.\d{6}: +(\d+) object::(\w+):(\S+): \S.*$", re.M)


def values(done):
    return {name: int(value) for name, value in re.findall(r"^(\w+) = (\d+)$", done.stdout, re.M)}


def perf(*words):
    """perf's output; it has nothing to complain about."""
    done = subprocess.run(["perf", *words], capture_output=True, text=True, errors="replace")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def touching(tmp_path):
    return shlex.quote(build(tmp_path, "touching", TOUCHING))


@pytest.mark.share(1)
@pytest.mark.every_kernel
@pytest.mark.parametrize("compiler", BOTH)
def test_the_samples_that_a_result_lets_through_are_lines(touching, compiler):
    done = sonde("--object", compiled(FAULTS, compiler), "--dump", "-xsamplesize=8m", "-c", touching)
    found, lines = values(done), LINE.findall(done.stdout)
    assert found["wanted"] == found["periods"] == len(lines) == PAGES
    assert found["all"] > PAGES
    assert {(name, program, section) for name, *_, program, section in lines} == {
        ("touching", "fault", "perf_event/software/page-faults/1")
    }


def test_what_a_process_starts_inherits_the_event(touching):
    """Three children, none of which was there when tracing began."""
    done = sonde("--object", compiled(FAULTS), "--dump", "-xsamplesize=8m", "-c", f"{touching} a b c")
    lines = LINE.findall(done.stdout)
    assert values(done)["wanted"] == len(lines) == 3 * PAGES
    pids = [pid for _, pid, *_ in lines]
    assert sorted(pids.count(pid) for pid in set(pids)) == 3 * [PAGES]


def test_samples_that_found_a_ring_full_are_told(touching):
    words = ["-xsamplesize=4k", "--dump", "-c", touching]
    done = sonde("--object", compiled(FAULTS), *words)
    lost = re.findall(r"(\d+) samples? lost: there was no room", unwrapped(done.stderr))
    assert values(done)["wanted"] == PAGES == len(LINE.findall(done.stdout)) + sum(map(int, lost))


@pytest.mark.long
@needs_perf
def test_perf_reads_what_was_recorded_and_samples_the_same_by_itself(touching, tmp_path):
    """perf counts the faults at those pages likewise; each sample has its callers."""
    file, own = str(tmp_path / "sonde.data"), str(tmp_path / "perf.data")
    words = ["--dump", "-xsamplesize=8m", "-o", file, "--", *shlex.split(touching)]
    done = sonde("record", "-g", "--object", compiled(FAULTS), *words)
    assert values(done)["wanted"] == PAGES
    assert f"{file}: {PAGES} samples, 0 records of programs" in unwrapped(done.stderr)
    assert not LINE.findall(done.stdout)
    addresses = [int(line, 16) for line in perf("script", "-i", file, "-F", "addr", "-G").split()]
    assert sorted(addresses) == [PLACE + 4096 * page for page in range(PAGES)]
    assert "main" in perf("script", "-i", file, "-F", "ip,sym")
    subprocess.run(
        ["perf", "record", "-qd", "-e", "page-faults", "-c", "1", "-o", own, *shlex.split(touching)], check=True
    )
    sampled = [int(line, 16) for line in perf("script", "-i", own, "-F", "addr").split()]
    assert sorted(each for each in sampled if PLACE <= each < PLACE + (PAGES << 12)) == sorted(addresses)
    shown = sonde("read", file)
    assert len(LINE.findall(shown.stdout)) == PAGES
    assert shown.stderr == ""


CLOCK = """
u64 ran;
SEC("perf_event/1999hz") int tick(void *c) { __sync_fetch_and_add(&ran, 1); return 1; }
"""
WORKING = Path(__file__).parents[1] / "programs" / "working_children.py"


@pytest.mark.long
def test_a_clock_may_be_the_processes_own():
    words = ["-xscope=processes", "-xsamplesize=4m", "--dump", "-c", shlex.join([sys.executable, "-IS", str(WORKING)])]
    done = sonde("--object", compiled(CLOCK), *words)
    lines = LINE.findall(done.stdout)
    assert values(done)["ran"] == len(lines) > 100
    assert len({pid for _, pid, *_ in lines}) >= 4


def test_processes_alone_need_some():
    error = sonde("-xscope=processes", "--object", compiled(CLOCK), status=1).stderr
    assert "scope=processes without processes" in unwrapped(error)


# A call that no other test traces: any program of the event that drops a sample drops it for all.
GETPGID = """
const volatile u32 odd;
u64 all, wanted;
struct record {{ u64 common; s32 number; }};
SEC("perf_event/tracepoint/syscalls/sys_enter_getpgid/{period}") int call(struct record *record)
{{
    u32 pid = bpf_get_current_pid_tgid();
    __sync_fetch_and_add(&all, 1);
    if (odd && !(pid & 1))
        return 0;
    __sync_fetch_and_add(&wanted, record->number == 121);
    return 1;
}}
"""
CALLING = """
import os
os.sched_setaffinity(0, {0})
for _ in range(6):
    child = os.fork()
    if not child:
        [os.getpgid(0) for _ in range(101)]
        os._exit(0)
    print(f"child {child}", flush=True)
    os.wait()
"""


def calling(tmp_path, text=CALLING):
    script = tmp_path / "calling.py"
    script.write_text(text)
    return sys.executable, "-IS", str(script)


@pytest.mark.every_kernel
def test_a_program_decides_which_trace_events_are_sampled(tmp_path):
    """In six children, one after the other: the program decides until the last has ended."""
    command = shlex.join(calling(tmp_path))
    done = sonde("--object", compiled(GETPGID.format(period=1)), "-D", "odd=1", "--dump", "-c", command)
    pids = [int(pid) for _, pid, *_ in LINE.findall(done.stdout)]
    children = list(map(int, re.findall(r"^child (\d+)$", done.stdout, re.M)))
    assert len(children) == 6
    assert {child: pids.count(child) for child in children} == {child: child % 2 * 101 for child in children}
    assert values(done)["all"] >= 606


@pytest.mark.long
@needs_perf
def test_each_nth_trace_event_is_a_sample_with_its_record(tmp_path):
    """100 of 1009 calls by one thread on one CPU are sampled, and perf knows their records."""
    file = str(tmp_path / "t.data")
    text = "import os\nos.sched_setaffinity(0, {0})\n[os.getpgid(0) for _ in range(1009)]"
    source = GETPGID.format(period=10).replace("sys_enter_getpgid", "sys_exit_getpgid")
    sonde("record", "--object", compiled(source), "-o", file, "--", *calling(tmp_path, text))
    lines = perf("script", "-i", file, "-F", "trace:comm,trace").splitlines()
    assert len(lines) == 100
    assert len({int(re.search(r"0x[0-9a-f]+", line)[0], 16) for line in lines}) == 1
    assert len(LINE.findall(sonde("read", file).stdout)) == 100


OF_KERNEL = f"""
#define CORE __attribute__((preserve_access_index))
struct perf_callchain_entry {{ u64 nr; }} CORE;
struct perf_sample_data {{ struct {{ u32 pid, tid; }} tid_entry; u64 time, cgroup, phys_addr, weight, aux_size;
    struct perf_callchain_entry *callchain; }} CORE;
struct bpf_perf_event_data_kern {{ struct perf_sample_data *data; }} CORE;
extern void *bpf_cast_to_kern_ctx(void *) __attribute__((section(".ksyms")));
struct sample {{ u64 registers[21], period, address; }};
u64 all, own, there, late, group, callers;
SEC("perf_event/software/minor-faults/1") int fault(struct sample *sample)
{{
    struct bpf_perf_event_data_kern *behind = bpf_cast_to_kern_ctx(sample);
    struct perf_sample_data *data = behind->data;
    if (sample->address - {PLACE:#x}ULL >= {PAGES}ULL << 12)
        return 0;
    all++;
    own += data->tid_entry.tid == (u32)bpf_get_current_pid_tgid();
    there += data->phys_addr != 0 && !(data->phys_addr & 4095);
    late += bpf_ktime_get_ns() - data->time < 1000000000;
    group = data->cgroup;
    callers = data->callchain->nr;
    return 0;
}}
"""


@packages.needs("clang")
def test_what_the_kernel_keeps_of_a_sample_is_asked_for_where_a_program_reads_it(touching):
    found = values(sonde("--object", compiled(OF_KERNEL, "clang"), "--dump", "-c", touching))
    assert found["all"] == found["own"] == found["there"] == found["late"] == PAGES
    assert 0 < found["group"] < 1 << 32
    assert 2 <= found["callers"] < 200


@pytest.mark.share(1)
@packages.needs("clang")
@pytest.mark.parametrize(
    ("member", "reason"), [("weight", "the processor measures it"), ("aux_size", "it counts bytes of a trace")]
)
def test_what_a_sample_has_not_is_refused_by_name(member, reason):
    source = OF_KERNEL.replace("data->cgroup", f"data->{member}")
    error = unwrapped(sonde("--object", compiled(source, "clang"), status=1).stderr)
    assert f"program fault: the sample of its event has no {member}: {reason}" in error


def test_what_lets_no_sample_through_is_not_recorded(tmp_path):
    source = CLOCK.replace("return 1", "return 0")
    error = sonde("record", "--object", compiled(source), "-o", str(tmp_path / "f"), status=1).stderr
    assert "no result of its programs lets a sample through" in unwrapped(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["record", "--engine", "embedded"], "only what the kernel traces can be recorded"),
        (["--raw", "kept"], "--object has no --raw"),
        (["record", "--raw", "kept"], "--object has no --raw"),
    ],
)
def test_what_is_not_kept_of_an_object_is_refused(tmp_path, words, reason):
    before, after = words[:1] if words[0] == "record" else [], words[words[0] == "record" :]
    words = [*before, "--object", compiled(CLOCK), *after, "-o", str(tmp_path / "f"), "-c", "true"]
    assert reason in unwrapped(sonde(*words, status=1).stderr)
    assert not (tmp_path / "f").exists()


@pytest.mark.long
def test_a_python_program_records_what_an_object_lets_through(touching, tmp_path):
    file = tmp_path / "p.data"
    with load_object(compiled(FAULTS)).run(shlex.split(touching), recording=file) as run:
        told = [event.text for event in run if isinstance(event, Message)]
    assert told == [f"{file}: {PAGES} samples, 0 records of programs"]
    assert len(LINE.findall(sonde("read", str(file)).stdout)) == PAGES


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_the_example_samples_the_faults_of_data(touching, compiler):
    source = (HEADERS / "faults.c").read_text().replace('char LICENSE[] SEC("license") = "GPL";', "")
    done = sonde("--object", compiled(source, compiler), "--dump", "-xsamplesize=8m", "-c", touching)
    assert values(done)["data"] == len(LINE.findall(done.stdout)) > PAGES
    assert values(done)["code"] > 0


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_the_example_handles_a_clock_on_both_engines(engine):
    """What is attached elsewhere lets through what it counts there."""
    source = (HEADERS / "faults.c").read_text().replace('char LICENSE[] SEC("license") = "GPL";', "")
    words = ["--attach", "fault=997hz", "-xscope=processes", "-xsamplesize=4m", "--dump"]
    command = shlex.join([sys.executable, "-IS", str(WORKING)])
    done = sonde("--engine", engine, "--object", compiled(source), *words, "-c", command)
    found, lines = values(done), LINE.findall(done.stdout)
    # Clocks of the embedded engine count what the program computes itself.
    assert found["data"] == len(lines) > (60 if engine == "kernel" else 20)
    assert {section for *_, section in lines} == {"perf_event/997hz"}
