"""sched:::on-cpu, off-cpu, preempt and dequeue over the kernel's records of switches, without privileges."""

import itertools
import re
import shlex
import struct
import subprocess
import sys

import pytest
from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from test_below_filters import PERF_EVENT_OPEN, below

from sonde.engines.embedded.sources.stops import SWITCHED
from sonde.engines.embedded.sources.switch_events import Switch, SwitchEvents
from sonde.engines.embedded.sources.switching import IN, OUT, Switching
from sonde.engines.embedded.tracer import stops

ENGINE = ["--engine", "embedded"]

WORKLOAD = r"""
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void tell(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    printf("%d %ld %ld\n", gettid(), usage.ru_nvcsw, usage.ru_nivcsw);
    fflush(stdout);
}
static void *work(void *sleeps) {
    struct timespec pause = {0, 2000000};
    for (long i = 0; i < (long)sleeps; i++) {
        for (volatile int n = 0; n < 100000; n++) ;
        nanosleep(&pause, 0);
    }
    for (volatile long n = 0; n < 20000000; n++) if (n % 2000000 == 0) sched_yield();
    tell();
    return 0;
}
int main(int count, char **words) {
    if (count > 1) getchar();
    if (count > 2) { for (;;) { work((void *)10L); } }
    for (long i = 0; i < 4; i++) {
        pthread_t id;
        int pid = fork();
        if (!pid) {
            pthread_create(&id, 0, work, (void *)(10 * i));
            work((void *)(20 * i));
            pthread_join(id, 0);
            if (i == 3) execl("/bin/sleep", "sleep", "0.05", (char *)0);
            _exit(0);
        }
        waitpid(pid, 0, 0);
    }
    return 0;
}
"""

COUNTING = """
sched:::off-cpu, sched:::on-cpu, sched:::preempt, sched:::dequeue { @[tid, probename] = count(); }
sched:::dequeue { @other[args[0]->pr_lwpid != tid || args[1]->pr_pid != pid || args[2]->cpu_id || arg2] = count(); }
END { printa("%d %s %@d\\n", @); printa("other %d %@d\\n", @other); }
"""


def workload():
    return program(WORKLOAD, "-D_GNU_SOURCE", "-pthread")


def counts(text):
    found = {}
    for tid, name, count in re.findall(r"^(\d+) (\S+) (\d+)$", text, re.MULTILINE):
        found.setdefault(int(tid), {})[name] = int(count)
    return found


@pytest.mark.long
@pytest.mark.parametrize("seccomp", ["yes", "no"])
def test_each_switch_is_told_as_the_kernel_counts_it(tmp_path, seccomp):
    """getrusage(2) has the numbers; behind it a thread leaves its CPU a few more times, the last time for good. The one
    with the most becomes another program. Without a filter each call stops it, so there are more of them."""
    out = tmp_path / "out"
    words = [*ENGINE, f"-xseccomp={seccomp}", "-qn", COUNTING, "-o", str(out)]
    done = sonde(*words, "-c", workload())
    found = counts(out.read_text())
    told = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(told) == 8
    executes = max(told, key=lambda each: each[1])
    for tid, voluntary, involuntary in told:
        fired = {"preempt": 0, **found[tid]}
        more = 400 if tid == executes[0] else {"yes": 20, "no": 80}[seccomp]
        assert voluntary < fired["dequeue"] <= voluntary + more
        assert involuntary <= fired["preempt"] <= involuntary + more
        assert fired["off-cpu"] == fired["dequeue"] + fired["preempt"]
        assert fired["off-cpu"] == fired["on-cpu"]
    assert "other 0 " in out.read_text()
    assert "other 1 " not in out.read_text()
    assert done.stderr == ""


def test_times_are_those_of_the_switches(tmp_path):
    """A thread that sleeps 40 times 5 ms is off for so long; on and off alternate, and never go back."""
    text = """
    sched:::on-cpu, sched:::off-cpu /pid == $target/
    { printf("%d %s\\n", timestamp, probename); }
    """
    out = tmp_path / "out"
    script = "import time\nfor _ in range(40): time.sleep(0.005)"
    command = shlex.join([sys.executable, "-c", script])
    sonde(*ENGINE, "-qn", text, "-o", str(out), "-c", command)
    lines = [line.split() for line in out.read_text().splitlines() if line]
    times, names = [int(line[0]) for line in lines], [line[1] for line in lines]
    assert times == sorted(times)
    assert all(first != second for first, second in itertools.pairwise(names))
    slept = [
        times[n + 1] - times[n] for n in range(len(times) - 1)
        if names[n] == "off-cpu" and times[n + 1] - times[n] >= 4_900_000
    ]  # fmt: skip
    assert len(slept) >= 40
    assert sum(sorted(slept)[:40]) < 40 * 40_000_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("probes", "times"), [("sched:::off-cpu, sched:::on-cpu", 60), ("profile-997", 30)], ids=["switches", "samples"]
)
def test_a_process_that_was_there_is_told_of_from_begin_on(tmp_path, probes, times):
    """It has run all the time while BEGIN took its own."""
    text = f"""
    BEGIN {{ for (this->i = 0; this->i < 100000; this->i++) {{ loops++; }} }}
    BEGIN {{ began = timestamp; printf("on\\n"); }}
    {probes} {{ @[timestamp < began, pid == $target] = count(); }}
    {probes} /++n == {times}/ {{ exit(0); }}
    """
    command = [*without_privileges(), workload(), "wait", "ever"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        process.stdin.write(b"\n")
        process.stdin.flush()
        words = [*without_privileges(), SONDE, *ENGINE, "-xmaxloop=100000", "-qn", text, "-p", str(process.pid)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as tracer:
            rows = [line.split() for line in tracer.communicate()[0].splitlines()[1:] if line]
        process.kill()
    ((early, own, count),) = rows
    assert (early, own) == ("0", "1")
    assert int(count) >= times - 2


@pytest.mark.share(1, 12)
@pytest.mark.parametrize("probe", ["off-cpu", "on-cpu", "preempt", "dequeue"])
@pytest.mark.parametrize(
    "asked",
    ["ustack();", "trace(uregs[R_SP]);", "trace(curpsinfo->pr_psargs);", "trace(fds[0].fi_name);", "trace(cwd);",
     "trace(vtimestamp);", "raise(9);", "stop();", "trace(copyinstr(self->p));"],
)  # fmt: skip
def test_of_a_thread_that_runs_on_nothing_else_is_told(probe, asked):
    text = f"syscall::openat:entry {{ self->p = arg1; }} sched:::{probe} {{ {asked} }}"
    done = sonde(*ENGINE, "-wqn", text, "-c", "false", status=1)
    told = " ".join(done.stderr.split())
    assert re.search(rf"{probe}: what looks into a process.* needs a thread that stands.*the kernel engine", told), told


@pytest.mark.share(1)
@pytest.mark.parametrize("asked", ["args[0]->pr_sname", "args[1]->pr_lwp.pr_state", "curlwpsinfo->pr_flag"])
def test_why_a_thread_leaves_its_cpu_is_not_guessed(asked):
    done = sonde(*ENGINE, "-qn", f"sched:::dequeue {{ trace({asked}); }}", "-c", "false", status=1)
    assert "pr_state" in done.stderr
    assert "kernel engine" in done.stderr


def test_a_thread_that_gets_a_cpu_runs():
    text = "sched:::on-cpu { @[curlwpsinfo->pr_sname] = count(); } sched:::on-cpu /++n > 3/ { exit(0); }"
    done = sonde(*ENGINE, "-qn", text, "-c", "sh -c 'for n in 1 2 3 4 5; do sleep 0.01; done'")
    assert done.stdout.split()[0] == str(ord("R"))


@pytest.mark.share(1)
@pytest.mark.parametrize("asked", ["arg0", "args[0]->pr_lwpid", "args[1]->pr_pid"])
def test_who_runs_next_is_not_known(asked):
    done = sonde(*ENGINE, "-qn", f"sched:::off-cpu {{ trace({asked}); }}", "-c", "false", status=1)
    assert "not known to the embedded engine" in done.stderr
    assert "the kernel engine" in " ".join(done.stderr.split())


@pytest.mark.share(1)
@pytest.mark.parametrize("name", ["sleep", "wakeup", "enqueue", "remain-cpu", "tick", "change-pri"])
def test_probes_that_users_are_not_told_of_are_refused_with_the_reason(name):
    done = sonde(*ENGINE, "-qn", f"sched:::{name} {{ }}", "-c", "false", status=1)
    told = " ".join(done.stderr.split())
    assert "neither why they sleep nor who wakes them; the kernel engine" in told


def test_without_perf_events_they_are_refused_before_the_command_starts(tmp_path):
    started = tmp_path / "started"
    words = ["-qn", "sched:::on-cpu { @ = count(); }", "-c", f"touch {started}"]
    done = below([PERF_EVENT_OPEN], *ENGINE, *words)
    message = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert "on-cpu: the kernel does not tell of switches: perf_event_open(2) is refused" in message
    assert "a seccomp profile that permits it" in message
    assert not started.exists()


class Events:
    """Switches as the kernel would give them."""

    descriptors = ()
    lost = 0

    def __init__(self, switches):
        self.switches = switches

    def take(self):
        found, self.switches = self.switches, []
        return found

    def enable(self):
        pass


class Known:
    address = 64


def told(switches, records, known):
    """What fires where switches come among records; of FORK the thread made is known behind it, of END no more."""
    fired = []
    switching = Switching(Events(switches), known, lambda name, task, when, *_: fired.append((name, when)))
    handlers = {
        stops.FORK: lambda record: known.setdefault(record[4], Known()),
        stops.START: lambda record: None,
        stops.EXEC: lambda record: None,
        stops.END: lambda record: fired.append(("end", record[3])) or known.pop(record[2], None),
    }
    switching.watch(handlers)
    handlers[SWITCHED] = switching.handle
    for record in switching.merged(records, 1000):
        handlers[record[0]](record)
    return fired, switching


def test_what_a_thread_does_before_its_making_is_told_behind_that():
    switches = [Switch(10, 7, False, False), Switch(20, 7, True, False), Switch(40, 7, False, False)]
    fired, switching = told(switches, [(stops.FORK, 0, 1, 30, 7, 0, 0)], {1: Known()})
    assert fired == [(IN, 10), (OUT, 20), (IN, 40)]
    assert switching.lost == 0


def test_the_end_of_a_thread_takes_it_from_its_cpu():
    switches = [Switch(10, 1, False, False), Switch(15, 2, False, False), Switch(20, 2, True, True)]
    records = [(stops.END, 0, 1, 30, 0, 0, 0), (stops.END, 0, 2, 31, 0, 0, 0)]
    fired, _ = told(switches, records, {1: Known(), 2: Known()})
    assert fired == [(IN, 10), (IN, 15), (OUT, 20), (OUT, 30), ("end", 30), ("end", 31)]


def test_a_thread_that_nobody_has_told_of_is_a_loss():
    fired, switching = told([Switch(10, 9, False, False)], [(stops.END, 0, 9, 30, 0, 0, 0)], {})
    assert (fired, switching.lost) == ([("end", 30)], 1)


def test_the_switches_of_a_thread_that_is_not_traced_are_losses_in_the_end():
    """Not while records come: those of a busy session may be late."""
    switches = [Switch(10, 9, False, False), *(Switch(20, 9, True, True),) * 5000]
    _, switching = told(switches, [(stops.START, 0, 1, 30, 0, 0, 0)], {1: Known()})
    assert switching.lost == 5001 - 4096
    for records, lost in (([(stops.START, 0, 1, 30, 0, 0, 0)], 5001 - 4096), ([], 5001)):
        switching.merged(records, 3_000_000_000)
        assert switching.lost == lost


def test_records_are_read_as_the_kernel_writes_them():
    events = SwitchEvents([])
    records = []
    for kind, misc, body in (
        (14, 0, struct.pack("=IIQ", 3, 4, 100)), (14, 1 << 13, struct.pack("=IIQ", 3, 4, 101)),
        (14, 3 << 13, struct.pack("=IIQ", 3, 4, 102)),
    ):  # fmt: skip
        records.append(type("Record", (), {"type": kind, "misc": misc, "body": memoryview(body)}))
    events._events.read = lambda: records
    assert events.take() == [Switch(100, 4, False, False), Switch(101, 4, True, False), Switch(102, 4, True, True)]
    events.close()
