"""Where sonde may open few files it does what it can, or says that this is the reason, and leaves nothing behind."""

import errno
import functools
import os
import resource
import subprocess
import sys
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from support.command.guarded import comes
from support.command.targets import program

from sonde.engines.embedded.remarks import Remarks
from sonde.engines.embedded.tracer import samples, stops
from sonde.engines.embedded.tracer.code_spaces import Losses
from sonde.engines.embedded.tracer.running_threads import AskingTurns, RunningThreads
from sonde.machine import proc

THREADS = """
#include <pthread.h>
#include <unistd.h>
static void *wait(void *unused) { usleep(60000000); return 0; }
int main(void) {
    pthread_t threads[100];
    for (int n = 0; n < 100; n++) pthread_create(&threads[n], 0, wait, 0);
    for (volatile long n = 0; ; n++);
}
"""


def limited(most, *words):
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
    # Not by the name of the command, which may be a script of the shell's, which needs more files than sonde.
    command = [sys.executable, "-m", "sonde", "-q", "--engine", "embedded", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)


@pytest.mark.share(1)
@pytest.mark.parametrize("most", range(8, 30))
def test_a_command_is_traced_or_the_limit_is_told(most):
    done = limited(most, "-n", "syscall:::entry { @[execname] = count(); }", "-c", "true")
    if done.returncode == 0:
        assert "true" in done.stdout
    else:
        said = " ".join(done.stderr.split())
        assert "too many open files" in said.lower()
        assert "ulimit -n" in said or "cannot create map" in said
        assert "ptrace_scope" not in said
        assert "namespace" not in said
    if most >= 26:
        assert done.returncode == 0


@pytest.fixture
def threads():
    with subprocess.Popen([program(THREADS)]) as child:
        assert comes(lambda: len(proc.threads(child.pid)) == 101)
        yield child
        child.kill()


@pytest.mark.long
@pytest.mark.parametrize("most", [40, 60, 150])
def test_samples_come_from_proc_where_each_thread_cannot_have_an_event(most, threads):
    text = "profile-997 { @[execname] = count(); } tick-1s { exit(0); }"
    done = limited(most, "-n", text, "-p", str(threads.pid))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 10


@pytest.mark.long
@pytest.mark.parametrize("most", [40, 60])
def test_stacks_are_had_by_stops_or_refused_where_each_thread_cannot_have_an_event(most, threads):
    text = "profile-997 { @[ustack()] = count(); } tick-1s { exit(0); }"
    done = limited(most, "-n", text, "-p", str(threads.pid))
    assert done.returncode == 0, done.stderr
    assert "`main+" in done.stdout
    said = " ".join(done.stderr.split())
    assert said.count("threads are asked to stop for samples, not stopped by clocks") == 1
    assert said.count("`ulimit -n`") == 1
    done = limited(most, "-xsampling=running", "-n", text, "-p", str(threads.pid))
    assert done.returncode == 1
    assert "`ulimit -n`" in done.stderr


@contextmanager
def most_files(more):
    """So many more may be open, in this process: all other numbers below the limit are taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + more, hard))
    filled = []
    try:
        with suppress(OSError):
            while True:
                filled.append(os.dup(0))
        for _ in range(more):
            os.close(filled.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in filled:
            os.close(each)


@pytest.mark.parametrize("more", range(6))
def test_threads_that_cannot_be_looked_at_are_not_taken_for_such_that_wait(more):
    """Fewer files are kept, and with no descriptor at all that is an error."""
    running = RunningThreads()
    with most_files(more):
        found = []
        for tid in (os.getpid(), 1, 2, os.getpid(), os.getppid(), os.getpid()):
            try:
                found.append(running.runs(tid))
            except OSError as error:
                found.append(error.errno)
    for tid in (os.getpid(), 1, 2, os.getppid()):
        running.forget(tid)
    if more:
        assert found[0] is found[3] is found[5] is True
        assert errno.EMFILE not in found
    else:
        assert found == [errno.EMFILE] * 6


def test_samples_that_could_not_be_taken_are_told(monkeypatch):
    def runs(tid):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    losses = Losses()
    threads = SimpleNamespace(
        running=SimpleNamespace(runs=runs), sampled={}, asking=AskingTurns(), requests={os.getpid(): 0}, traps=None,
        spaces=SimpleNamespace(losses=losses),
    )  # fmt: skip
    monkeypatch.setattr(samples, "_may_stop", lambda threads, tid: True)
    samples.ask(threads)
    assert losses.found == {(os.getpid(), stops.UNSAMPLED, errno.EMFILE): 1}
    remarks = Remarks()
    remarks.lost(7, b"seven", stops.UNSAMPLED, 3, errno.EMFILE)
    remarks.tell_losses()
    assert [("`ulimit -n`" in text, "3 samples of process 7 (seven)" in text) for text in remarks.texts] == [
        (True, True)
    ]


@pytest.mark.parametrize(
    ("error", "is_told"), [(0, False), (errno.EACCES, False), (errno.EMFILE, True), (errno.ENOMEM, True)]
)
def test_the_reason_for_asking_is_told_unless_clocks_are_refused(error, is_told):
    remarks = Remarks()
    remarks.without_clocks(error)
    assert [("`ulimit -n`" in text) for text in remarks.texts] == [error == errno.EMFILE] * is_told
