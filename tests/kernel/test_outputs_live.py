"""Records through perf rings are those that come through a BPF ring buffer, in their order."""

import re
import shlex
import socket
import subprocess
import sys

import pytest
from support.command.command import SONDE, build, environment, sonde
from support.command.same_run import outcome, programs, scripts
from support.d import d_run
from support.machine.activity import busy
from support.packets.network import ADDRESSES, DATAGRAMS, network
from support.packets.packets import captured, dumps

from sonde.bpf.maps import RINGBUF
from sonde.machine.system import current_target
from sonde.model.named_maps import PERF_RINGS

ALIKE = (
    "default-output", "discarded", "errors", "exit", "faults", "long-strings", "speculations", "stacks", "stop",
)  # fmt: skip
"""Scripts whose records are of every kind, and those that end a trace."""

SCRIPTS = [script for script in scripts() if script.path.stem in ALIKE]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return programs(tmp_path_factory.mktemp("programs"))


RUNS = [
    pytest.param(script, engine, id=f"{script.path.stem}-{engine}")
    for script in SCRIPTS
    for engine in ("kernel", "embedded")
    if engine == "kernel" or script.path.stem in ("exit", "speculations")
]


@pytest.mark.long
@pytest.mark.parametrize(("script", "engine"), RUNS)
def test_a_script_shows_the_same(script, engine, compiled, tmp_path):
    ways = ("ringbuf", "perf") if engine == "kernel" else ("ringbuf", "perf", "perf-reserve")
    ringbuf, *others = (
        outcome(script._replace(options=f"{script.options} -xoutput={way}"), engine, compiled, tmp_path) for way in ways
    )
    assert re.search(script.shows, ringbuf.output), ringbuf
    assert others == [ringbuf] * (len(ways) - 1)


CALLS = """
syscall::getpgid:entry { printf("%d %s\\n", arg0, execname); }
syscall::getpgid:entry { @ = count(); }
END { printa("all %@d\\n", @); }
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("way", ["ringbuf", "perf", "perf-reserve"])
def test_what_is_shown_and_what_is_lost_are_all_calls_without_privilege(way):
    """A ring of a page, over whose end many records run."""
    program = "import os; [os.getpgid(os.getpid()) for _ in range(5003)]"
    words = [f"-xoutput={way}", "-b4k", "-qc", shlex.join((sys.executable, "-c", program))]
    done = sonde("--engine", "embedded", *words, "-n", CALLS)
    lines, (count,) = re.findall(r"^\d+ python.*$", done.stdout, re.MULTILINE), re.findall(r"all (\d+)", done.stdout)
    lost = sum(int(number) for number in re.findall(r"(\d+) drops? on CPU", done.stderr))
    assert (len(lines) + lost, int(count)) == (5003, 5003)
    assert len({line.split()[0] for line in lines}) == 1
    assert len(lines) > 200, "more than a page has room for"


def test_the_kernel_reserves_nothing_in_perf_rings():
    done = sonde("--engine", "kernel", "-xoutput=perf-reserve", "-n", "BEGIN { trace(1); exit(0); }", status=1)
    assert "option output=perf-reserve: the kernel reserves nothing in perf rings" in done.stderr
    assert "use --engine embedded, or -xoutput=perf" in done.stderr


TURNS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int there[2], back[2], last = atoi(argv[1]), child;
    cpu_set_t all, one;
    pipe(there), pipe(back);
    child = !fork();
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0, left = child; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && !left--) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            break;
        }
    int in = child ? there[0] : back[0], out = child ? back[1] : there[1];
    for (int n = child; n < last; n += 2) {
        char turn = 0;
        if (n)
            read(in, &turn, 1);
        syscall(SYS_getpgid, n);
        write(out, &turn, 1);
    }
    if (!child)
        wait(0);
}
"""


@pytest.mark.share(1)
@pytest.mark.every_kernel
@pytest.mark.parametrize("options", [(), ("-xswitchrate=50ms",)])
def test_records_of_two_cpus_are_in_the_order_of_their_times(tmp_path, options):
    """Two processes take turns, each on a CPU of its own where there are two."""
    program = build(tmp_path, "turns", TURNS)
    text = """
    syscall::getpgid:entry /pid == $target || ppid == $target/ { printf("%d\\n", arg0); @[cpu] = count(); }
    END { printa("cpu %d %@d\\n", @); }
    """
    done = sonde("-xoutput=perf", *options, "-qc", f"{program} 3000", "-n", text)
    lines = done.stdout.split("\n")
    assert [int(line) for line in lines if line.isdecimal()] == list(range(3000))
    assert sum(int(count) for count in re.findall(r"^cpu \d+ (\d+)$", done.stdout, re.MULTILINE)) == 3000
    assert "drop" not in done.stderr


THREADS = r"""
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) void work(const char *name, long n) { asm volatile("" :: "r"(name), "r"(n)); }
static void *thread(void *number)
{
    char name[40];
    for (long n = 0; n < 700; n++) {
        sprintf(name, "thread %ld call %ld", (long)number, n);
        work(name, n);
    }
    return 0;
}
int main()
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(threads + i, 0, thread, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
}
"""


@pytest.mark.long
def test_firings_within_each_other_keep_their_records(tmp_path):
    """The programs of a process's threads are preempted for each other's and interrupted by those of a timer, in the
    middle of records that are built."""
    program = build(tmp_path, "threads", THREADS, "-pthread")
    text = """
    pid$target:a.out:work:entry { printf("%s+%d\\n", copyinstr(arg0), arg1); }
    profile-1999 { printf("%s+%s\\n", strjoin("tick ", probename), strjoin("of ", probename)); @ = count(); }
    END { printa("ticks %@d\\n", @); }
    """
    with busy([0]):
        done = sonde("-xoutput=perf", "-qc", program, "-n", text)
    assert "drop" not in done.stderr
    lines = [line for line in done.stdout.split("\n") if line]
    calls = [line for line in lines if line.startswith("thread")]
    assert sorted(calls) == sorted(f"thread {i} call {n}+{n}" for i in range(4) for n in range(700))
    ticks = lines.count("tick profile-1999+of profile-1999")
    assert ticks > 0
    assert [line for line in lines if line not in set(calls)] == ["tick profile-1999+of profile-1999"] * ticks + [
        f"ticks {ticks}"
    ]


AROUND = """
packet:{name}:egress: {{ this->t = timestamp; printf("a %d\\n", this->t); }}
packet:{name}:egress: {{ capture(8); printf("b %d\\n", this->t); }}
packet:{name}:egress: {{ printf("c %d\\n", this->t); @ = count(); }}
END {{ printa("%@d packets\\n", @); }}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [(), ("-xswitchrate=20ms", "-xoutput=perf")])
def test_what_ends_in_a_packet_is_read_between_what_was_written_before_and_after(options):
    """Captures go into perf rings and all else into the ring buffer, unless all goes into perf rings."""
    with network("ou") as net:
        with captured(net.left, AROUND.format(name=net.left), *options) as output:
            # More than a CPU's queue of what has come holds: not all do.
            net.run(net.left, DATAGRAMS, ADDRESSES[4][1], 7300, 1500, 10)
        lines = re.findall(r"^([abc]) (\d+)$", output[0], re.MULTILINE)
        (count,) = re.findall(r"^(\d+) packets$", output[0], re.MULTILINE)
    by_firing = {}
    for letter, time in lines:
        by_firing.setdefault(time, []).append(letter)
    assert int(count) >= 1500
    assert list(by_firing.values()) == [["a", "b", "c"]] * int(count)


SIZES = """
packet:{name}:egress: {{ @ = count(); }}
packet:{name}:egress: {{ printf("%d\\n", pktlen); capture(); printf("end\\n"); }}
END {{ printa("all %@d\\n", @); }}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("output", ["auto", "perf"])
def test_packets_and_losses_are_all_that_passed(tmp_path, output):
    """Of packets that are too many for a ring of a page what is shown is whole, and the others are told."""
    script = tmp_path / "send.py"
    script.write_text(DATAGRAMS)
    with network("ou") as net:
        command = f"'{sys.executable}' {script} {ADDRESSES[4][1]} 7300 1300 10"
        words = ["-b4k", "-xswitchrate=300ms", f"-xoutput={output}", "-c", command]
        words = ["ip", "netns", "exec", net.left, SONDE, "-qn", SIZES.format(name=net.left), *words]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True)
    lost = sum(int(number) for number in re.findall(r"(\d+) drops? on CPU", done.stderr))
    *shown, last = done.stdout.split("end\n")
    packets = [(int(length), dumps(dump)) for length, _, dump in (each.strip("\n").partition("\n") for each in shown)]
    assert (len(packets) + lost, len(packets) > 0) == (int(re.search(r"all (\d+)", last)[1]), True)
    assert lost > 500
    for length, data in packets:
        assert len(data) == length
        if data[12:14] == b"\x08\x00" and data[23] == socket.IPPROTO_UDP:
            assert data[42:] == b"x" * (length - 42)


def test_what_is_made_for_a_kernel_without_ring_buffers_needs_none(monkeypatch):
    """As `auto` makes it for Linux 5.4, of which this kernel has all that it takes."""
    monkeypatch.setattr(d_run, "_target", current_target(frozenset())._replace(release="5.4.0"))
    text = """
    BEGIN { s = speculation(); trace(1); printf("%s", strjoin("t", "wo")); }
    BEGIN { speculate(s); trace(3); }
    BEGIN { commit(s); }
    END { trace(*(int *)4); }
    """
    with d_run.Run(text) as run:
        assert run.spec.rings == (PERF_RINGS,)
        assert RINGBUF not in {each.kind for each in run.spec.maps}
        values = run.begin().values()
        assert [each if isinstance(each, int) else each.rstrip(b"\0") for each in values[0]] == [1, b"two"]
        assert values[1:2] == [[3]]
        ((_, probe, code, address),) = run.end().faults()
        assert (probe, code, address) == (2, 1, 4)
        assert run.lost() == {}
