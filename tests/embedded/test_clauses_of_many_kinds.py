"""Clauses of probes that are fired in several ways: one general probe, and an adapter for each way."""

import errno
import random
import re
import subprocess
import sys

import pytest
from support.command import targets
from support.machine import packages
from support.machine.access import missing
from support.suite.example_counts import count_of

import sonde
from sonde.engines.embedded import offer

pytestmark = pytest.mark.examples

COMMAND = ["dd", "if=/dev/zero", "of=/dev/null", "bs=100", "count=300", "status=none"]

CALLS = (
    "syscall::read:entry", "syscall::read:return", "syscall::write:entry", "syscall::write:return",
    "syscall::close:return",
)  # fmt: skip
OTHERS = (
    "syscall::*:entry", "rawtp:::sched_process_exit", "rawtp:::sys_enter", "rawtp:::sys_exit", "proc:::exit",
    "proc:::exec", "sched:::surrender", "profile-97", "tick-50ms",
)  # fmt: skip
CLOCKS = {"profile-97", "tick-50ms"}

STATEMENTS = (
    "@a[probeprov, probefunc, probename] = count();",
    '@b[probefunc, probename] = sum(probefunc == "write" ? arg2 : 0);',
    '@c[probefunc, probename] = sum(probename == "return" ? arg0 + arg1 : 0);',
    "@d[probename, errno] = count();",
    "@e[epid, id, probename] = count();",
    "this->seen = this->seen + 1; @f[this->seen, probefunc, probename] = count();",
    "self->depth++; @g[probefunc, probename] = count();",
    "@h[execname, pid == $target, probename] = count();",
    "@i[ustackdepth > 0, probename] = count();",
    '@j[probename == "entry" ? stringof(execname) : probename] = count();',
    *(
        f"@{name}[probeprov, probename, {number} == pid ? -1 : (uint64_t){number} < 4096 ? {number} : -2] = count();"
        for name, number in (("k", "arg0"), ("l", "arg1"), ("m", "arg2"), ("n", "arg3"), ("o", "arg7"))
    ),
    "@p[probeprov, probename, errno] = count();",
    "@q[probename, uregs[R_RAX] == arg0, uregs[R_RSI] < 4096 ? uregs[R_RSI] : 0] = count();",
)
"""Their results on a command that does the same each time are the same, clocks left out."""

RUNS = count_of(6)


def some_program(source):
    """Clauses with some probes each, each a part of them with a predicate."""
    clauses = []
    for _ in range(source.randint(1, 4)):
        probes = ",".join([source.choice(CALLS), *source.sample(OTHERS, source.randint(0, 4))])
        predicate = source.choice(("", "/pid == $target/ ", "/this->seen < 3/ "))
        clauses.append(f"{probes} {predicate}{{ {' '.join(source.sample(STATEMENTS, source.randint(1, 3)))} }}")
    return "this int seen; self int depth; " + " ".join(clauses)


def results(text):
    """What does not depend on clocks."""
    with sonde.trace(text, COMMAND, engine="embedded") as run:
        assert not [event for event in run if isinstance(event, sonde.ProbeError)]
        assert not run.losses
        return {
            name: {key: value for key, value in table.items() if not CLOCKS & set(key)}
            for name, table in run.aggregations.items()
        }


@pytest.mark.long
@pytest.mark.parametrize("seed", range(RUNS))
def test_results_are_those_of_programs_of_their_own(seed, monkeypatch):
    text = some_program(random.Random(f"general probes {seed}"))
    called = results(text)
    assert any(called.values()), text
    monkeypatch.setattr(offer, "FEATURES", offer.FEATURES - {"general_probes"})
    assert called == results(text), text


INTERRUPTED = """
import signal, time
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(0.2)
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("others", ["", ",tick-1h"])
def test_a_call_that_a_signal_interrupts_fails_with_eintr(others):
    """Whoever calls the clause, it is not the kernel's own word for that."""
    text = f"syscall::clock_nanosleep:return{others} {{ @[errno] = count(); }}"
    with sonde.trace(text, [sys.executable, "-c", INTERRUPTED], engine="embedded") as run:
        assert not [event for event in run if isinstance(event, sonde.ProbeError)]
        assert set(run.aggregations["_"]) == {(errno.EINTR,), (0,)}


def told(text, command="true"):
    """The programs that -v tells of: their names, types and numbers of instructions, which it adds up."""
    words = [sys.executable, "-m", "sonde", "--engine", "embedded", "-v", "-n", text, "-c", command]
    messages = " ".join(subprocess.run(words, capture_output=True, text=True).stderr.split())
    found = re.findall(r"program (\w+), (\w+), .*?: (\d+) instructions?", messages)
    programs = [(name, kind, int(number)) for name, kind, number in found]
    total = sum(number for *_, number in programs)
    assert len(programs) == 1 or f" {len(programs)} programs, {total} instructions" in messages, messages
    return programs


def test_clauses_stand_in_one_program_that_adapters_call():
    body = "{ @a[probename] = quantize(timestamp); @b[execname] = count(); }"
    calls = "syscall::read:entry,syscall::read:return,syscall::write:return"
    probes = f"{calls},rawtp:::sched_process_exit,profile-97,tick-1s"
    (name, kind, size), *adapters = told(f"{probes} {body}")
    assert (name, kind) == ("general0", "probe")
    assert sorted(kind for _, kind, _ in adapters) == ["perf_event", *["raw_tracepoint"] * 3]
    assert all(number <= 6 for _, _, number in adapters)
    ((_, kind, alone),) = told(f"syscall::read:entry {body}")
    assert kind == "raw_tracepoint"
    assert size < alone + 40


CALLED = (
    "getuid()", "getgid()", "geteuid()", "getegid()", "getppid()", "getcwd()", "umask(0)", "getsid(0)", "getpgid(0)",
    "sched_yield()", "getgroups()", "getpriority(0, 0)", "getpgrp()",
)  # fmt: skip


def test_each_clause_knows_its_own_probes():
    """Of as many general probes as there are clauses."""
    names = [each.partition("(")[0] for each in CALLED]
    clauses = [
        f"syscall::{name}:entry,tick-{n + 901}s {{ @{name}[probefunc] = count(); }}" for n, name in enumerate(names)
    ]
    command = [sys.executable, "-c", f"import os; {'; '.join(f'os.{each}' for each in CALLED)}"]
    with sonde.trace(" ".join(clauses), command, engine="embedded") as run:
        assert not run.losses
        found = {name: set(table) for name, table in run.aggregations.items()}
    assert found == {name: {(name,)} for name in names}


FOLLOWING = (
    "proc:::create", "proc:::lwp-create", "proc:::exec", "proc:::exec-failure", "proc:::exec-success", "proc:::fault",
    "proc:::signal-send", "proc:::signal-discard", "proc:::signal-handle", "proc:::signal-clear", "proc:::start",
    "proc:::lwp-start", "proc:::lwp-exit", "proc:::exit", "sched:::surrender",
)  # fmt: skip
"""Probes that follow from others, most of them under a condition."""

EVENTFUL = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>

static void handle(int number) { (void)number; }

int main(void)
{
    struct timespec soon = { 0, 50000000 };
    sigset_t set;
    int n;

    for (n = 0; n < 3; n++)
        if (!fork()) {
            execl("/nowhere", "nowhere", (char *)0);
            if (n)
                execl("/bin/true", "true", (char *)0);
            *(volatile int *)8 = 1;
        }
    while (wait(0) > 0)
        sched_yield();
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    signal(SIGUSR2, SIG_IGN);
    raise(SIGUSR2);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGHUP);
    sigtimedwait(&set, 0, &soon);
    return 0;
}
"""


@pytest.mark.share(0, 5)
@pytest.mark.parametrize("probe", FOLLOWING)
def test_clauses_of_probes_that_follow_from_others_stand_once(probe):
    """Their adapters look at the condition."""
    packages.require("gcc")
    body = "{ @[probeprov, probename, execname] = count(); }"
    programs = told(f"syscall::getppid:entry,{probe},tick-1h {body}")
    assert [kind for name, kind, _ in programs if not name.startswith("from0_")] == ["probe"]
    assert len(programs) == 4

    def counts(probes):
        with sonde.trace(f"{probes} {body}", [targets.program(EVENTFUL)], engine="embedded") as run:
            assert not [event for event in run if isinstance(event, sonde.ProbeError)]
            return dict(run.aggregations["_"])

    alone = counts(probe)
    assert alone
    assert alone == counts(f"syscall::getppid:entry,{probe},tick-1h")


def test_all_probes_that_follow_from_others_are_known():
    words = [sys.executable, "-m", "sonde", "--engine", "embedded", "-l", "proc:::", "sched:::"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    found = {f"{line.split()[1]}:::{line.split()[-1]}" for line in lines}
    switches = {f"sched:::{name}" for name in ("on-cpu", "off-cpu", "preempt", "dequeue")}
    assert found - switches == set(FOLLOWING)


def test_clauses_with_values_of_their_own_do_not_part_the_others():
    """Where one description's arguments make another clause of it, those before and behind it are one."""
    text = "syscall::read:entry,proc:::exit,profile-97 { @[arg0 == 0] = count(); }"
    assert [kind for _, kind, _ in told(text)] == ["probe", "raw_tracepoint", "perf_event", "tracing"]


def test_clauses_that_share_probes_share_a_program():
    """Each stands in it once."""
    text = (
        "syscall:::entry { @a = count(); } syscall::read:entry,profile-97 { @b = count(); } tick-1s { @c = count(); }"
    )
    assert [kind for _, kind, _ in told(text)] == ["probe", "raw_tracepoint", "perf_event", "perf_event"]
    assert [kind for _, kind, _ in told("syscall:::entry { @a = count(); } syscall::read:entry { @b = count(); }")] == [
        "raw_tracepoint"
    ]


def test_threads_are_held_for_the_probes_that_want_it_alone():
    """Where one of the clauses reads memory the others have a program without it."""
    text = "syscall:::entry { @a = count(); } syscall::openat:entry { @b[copyinstr(arg1)] = count(); }"
    assert len(told(text)) == 2


def test_a_saved_program_has_its_general_probe(tmp_path):
    """It runs as it was compiled, also where it may not change anything; the kernel engine says what it lacks."""
    path = str(tmp_path / "saved.spec")
    text = "syscall::write:entry,syscall::write:return,tick-1h { @[probename] = count(); }"
    sonde_ = [sys.executable, "-m", "sonde", "-q"]
    subprocess.run([*sonde_, "--engine", "embedded", "--save", path, "-n", text], check=True)
    done = subprocess.run([*sonde_, "--spec", path, "-c", "echo one"], capture_output=True, text=True, check=True)
    assert dict(map(str.split, filter(str.strip, done.stdout.splitlines()[1:]))) == {"entry": "1", "return": "1"}
    refused = subprocess.run(
        [*sonde_, "--engine", "kernel", "--spec", path, "-c", "true"], capture_output=True, text=True
    )
    assert "Traceback" not in refused.stderr
    assert refused.returncode == (2 if missing("CAP_BPF", "CAP_PERFMON") else 1)
    if refused.returncode == 1:
        assert "no general programs" in " ".join(refused.stderr.split())
