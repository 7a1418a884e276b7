"""Where sonde may open few files it does what it can, or says that this is the reason, and leaves nothing behind."""

import functools
import resource
import subprocess
import sys

import pytest
from support.command.guarded import comes
from support.command.targets import program

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
def test_stacks_are_had_by_stops_or_refused_where_each_thread_cannot_have_an_event(threads):
    text = "profile-997 { @[ustack()] = count(); } tick-1s { exit(0); }"
    done = limited(40, "-n", text, "-p", str(threads.pid))
    assert done.returncode == 0, done.stderr
    assert "`main+" in done.stdout
    done = limited(40, "-xsampling=running", "-n", text, "-p", str(threads.pid))
    assert done.returncode == 1
    assert "`ulimit -n`" in done.stderr
