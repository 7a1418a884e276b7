"""What is traced outlives sonde, killed at any moment. SONDE_SURVIVAL_RUNS says how often (tools/survival.py)."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command.command import SONDE, environment
from support.command.guarded import ALL, calls, child_of, follow, of_kind, untraced
from support.command.targets import program
from support.machine import compilers, packages
from support.machine.processes import children
from test_guardian_signals import SLEEPER

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, RETURN, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.launch import GuardianError
from sonde.machine import proc

RUNS = os.environ.get("SONDE_SURVIVAL_RUNS", "15")
TOOL = Path(__file__).parent.parent.parent / "tools" / "survival.py"


@pytest.mark.long
@packages.needs("gcc")
def test_killed_at_random_moments():
    done = subprocess.run([sys.executable, TOOL, RUNS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 targets harmed" in done.stdout


def in_a_child(work):
    """A process that does `work` and waits to be killed; it has been done when this returns."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kept = work()
            os.write(writer, b"done")
            signal.pause()
            del kept
        finally:
            os._exit(1)
    os.close(writer)
    assert os.read(reader, 4) == b"done"
    os.close(reader)
    return pid


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def sleeper():
    child = subprocess.Popen([program(SLEEPER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def test_killed_when_it_has_only_grabbed():
    child = sleeper()

    def work():
        tracees = Tracees()
        tracees.grab(child.pid)
        return tracees

    kill(in_a_child(work))
    assert untraced(child.pid)
    child.stdin.close()
    assert child.wait() == 4


def test_killed_while_a_thread_is_held():
    child = sleeper()

    def work():
        tracees = Tracees()
        tracees.grab(child.pid)
        tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY | HOLD_ENTRY)))
        tracees.go()
        child.stdin.write(b"x")
        child.stdin.flush()
        while not any(record[1] & stops.HELD for record in tracees.take()[1]):
            time.sleep(0.001)
        return tracees

    kill(in_a_child(work))
    assert untraced(child.pid)
    child.stdin.close()
    assert child.wait() == 4


def test_killed_before_the_command_runs():
    """It never runs then."""
    reader, writer = os.pipe()

    def work():
        os.dup2(writer, 1)
        tracees = Tracees()
        tracees.start("echo something")
        return tracees

    pid = in_a_child(work)
    os.close(writer)
    kill(pid)
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_killed_while_the_command_waits_at_its_entry():
    """The breakpoint there is gone, and with a filter it is followed to its end."""
    for seccomp in (True, False):
        reader, writer = os.pipe()

        def work(seccomp=seccomp, writer=writer):
            os.dup2(writer, 1)
            tracees = Tracees()
            tracees.start("sh -c 'echo something; ls -d /'")
            tracees.begin(StopPlan(dict.fromkeys(ALL, ENTRY | RETURN), seccomp=seccomp), "postinit")
            return tracees

        pid = in_a_child(work)
        os.close(writer)
        kill(pid)
        with os.fdopen(reader, "rb") as file:
            assert file.read() == b"something\n/\n"


def test_a_killed_watcher_ends_the_tracing_and_nothing_else():
    child = sleeper()
    tracees = Tracees()
    tracees.grab(child.pid)
    tracees.begin(calls(ENTRY))
    tracees.go()
    watcher = child_of(tracees.guardian, "sonde-guardian")
    os.kill(watcher, signal.SIGKILL)
    assert untraced(child.pid)
    child.stdin.close()
    with pytest.raises(GuardianError, match="killed"):
        follow(tracees, child.pid)
    assert child.wait() == 4
    tracees.close()


def test_a_killed_guardian_is_noticed():
    tracees = Tracees()
    pid = tracees.start("sleep 30")
    tracees.begin(calls(ENTRY), "postinit")
    tracees.go()
    watcher = child_of(tracees.guardian, "sonde-guardian")
    os.kill(tracees.guardian, signal.SIGKILL)
    with pytest.raises(GuardianError, match="the guardian, which traces the processes, was killed"):
        follow(tracees, pid)
    while os.path.exists(f"/proc/{watcher}/status") and proc.stat(watcher).state != "Z":
        time.sleep(0.001)
    # A filter without its tracer would make calls fail: so the command ends with it.
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    tracees.close()


def test_asking_a_killed_guardian_ends_nothing():
    """The command line lets SIGPIPE end sonde, as `| head` wants it."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        tracees = Tracees()
        os.kill(tracees.guardian, signal.SIGKILL)
        os.waitpid(tracees.guardian, 0)
        tracees.resume(0, 1)
        try:
            tracees.grab(os.getppid())
        except GuardianError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_nothing_is_left_of_a_killed_guardian():
    tracees = Tracees()
    pid = tracees.start("sleep 30")
    tracees.begin(calls(ENTRY))
    watcher = child_of(tracees.guardian, "sonde-guardian")
    ended = os.pidfd_open(watcher)
    notifiers = [os.pidfd_open(each) for each in children(tracees.guardian) if each != watcher]
    os.kill(watcher, signal.SIGSTOP)
    os.kill(tracees.guardian, signal.SIGKILL)
    for each in (ended, *notifiers):
        assert select.select([each], [], [], 20)[0]
        os.close(each)
    os.waitpid(pid, 0)
    tracees.close()


def test_the_guardian_keeps_nothing_open():
    """Whoever reads sonde's output sees its end, though the guardian stays."""
    child = subprocess.Popen(["sleep", "30"], stdout=subprocess.DEVNULL)
    tracees = Tracees()
    try:
        pid = tracees.start("true")
        tracees.begin(StopPlan())
        directory = f"/proc/{tracees.guardian}/fd"
        opened = {os.readlink(f"{directory}/{name}") for name in os.listdir(directory)}
        assert all(name == "/dev/null" or name.startswith(("pipe:", "anon_inode:")) for name in opened)
        assert len(opened) <= 5
        assert os.getpgid(tracees.guardian) == tracees.guardian
        tracees.go()
        follow(tracees, pid)
        os.waitpid(pid, 0)
    finally:
        tracees.close()
        child.kill()
        child.wait()


def test_it_may_be_told_of_what_has_ended():
    tracees = Tracees()
    pid = tracees.start("sh -c 'for i in 1 2 3; do /bin/true; done; exit 3'")
    tracees.begin(StopPlan(), "postinit")
    tracees.go()
    found = follow(tracees, pid)
    tracees.close()
    traced = type("Traced", (), {"stops": found})
    assert len(of_kind(traced, stops.END)) == 4
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("moment", "message"),
    [("begin", "processing aborted: "), ("start", "processing aborted: "), ("go", "processing aborted: ")],
)
def test_the_command_line_says_that_the_guardian_was_killed(moment, message, monkeypatch, capfd):
    from sonde.cli.main import main

    real = getattr(Tracees, moment)

    def killed_first(tracees, *arguments):
        os.kill(tracees.guardian, signal.SIGKILL)
        os.waitid(os.P_PID, tracees.guardian, os.WEXITED | os.WNOWAIT)
        return real(tracees, *arguments)

    monkeypatch.setattr(Tracees, moment, killed_first)
    words = ["-q", "--engine", "embedded", "-n", "syscall:::entry { @ = count(); }", "-c", "sleep 5"]
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE)}
    try:
        assert main(["sonde", *words]) == 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert f"sonde: {message}the guardian, which traces the processes, was killed" in capfd.readouterr().err


PUTS_BACK = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(int count, char **words)
{
    char kept[16];
    volatile char *code = (volatile char *)work;
    long sum = work(0);
    mprotect((void *)((long)work & -4096L), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(kept, (char *)work, sizeof kept);
    puts("kept");
    fflush(stdout);
    while (access(words[1], F_OK))
        usleep(1000);
    for (int n = 0; n < 300; n++) {
        code[0] = kept[0];
        sum += work(n);
    }
    printf("%ld\n", sum);
    return 0;
}
"""


@packages.needs("gcc")
def test_a_program_that_puts_its_code_back_with_a_breakpoint_in_it_goes_on(tmp_path):
    """It has copied the breakpoint, and sonde is killed."""
    built, gate = compilers.built("puts_back.c", PUTS_BACK, "gcc", "-O1"), tmp_path / "gate"
    script = f"uprobe:{built}:work:entry {{ @ = count(); }}"
    words = [SONDE, "-q", "--engine", "embedded", "-n", script, "-c", f"{built} {gate}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as tracer:
        assert tracer.stdout.readline() == "kept\n"
        tracer.kill()
        tracer.wait()
        gate.touch()
        assert tracer.stdout.readline() == "45151\n"
