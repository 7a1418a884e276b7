"""What cannot be traced, each with its sentence; ordinary users, since root may trace nearly all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command.targets import program
from support.places import SOURCES, SUPPORT, TESTS

from sonde.engines.embedded.tracer.plan import StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.launch import CommandError

NOBODY = 65534
ORDINARY = {} if os.getuid() else {"user": NOBODY, "group": NOBODY, "extra_groups": []}

PTRACE, VM_READ, VM_WRITE, PREADV, PREADV2 = 101, 310, 311, 295, 327

GRAB = """
import sys
from sonde.launch import CommandError
from sonde.engines.embedded.tracer.tracees import Tracees
tracees = Tracees()
try:
    tracees.grab(%d)
except CommandError as error:
    print(error)
"""

START = """
from sonde.launch import CommandError
from sonde.engines.embedded.tracer.plan import StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees
tracees = Tracees()
try:
    tracees.start("true")
    tracees.begin(StopPlan(seccomp=%r))
except CommandError as error:
    print(error)
"""

READ = """
import os
from support.command import guarded
from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, StopPlan
found = []
def held(tracees, stop):
    text = tracees.memory.read_available(stop.tid, stop.arg1, 64).partition(b"\\0")[0]
    tracees.memory.write(stop.tid, stop.sp - 4096, b"some")
    found.append((text, tracees.memory.read(stop.tid, stop.sp - 4096, 4)))
guarded.command("cat /dev/null", StopPlan({257: ENTRY | HOLD_ENTRY}), held)
print(found[-1])
"""


UNTRACEABLE = r"""
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
    prctl(PR_SET_DUMPABLE, 0);
    write(1, "ready\n", 6);
    sleep(9);
}
"""


def said(script, refused=()):
    """What a script prints, as an ordinary user, where these system calls fail."""
    user = 0 if os.getuid() else NOBODY
    words = [sys.executable, SUPPORT / "command/refused_calls.py", str(user), ",".join(map(str, refused)), script]
    environment = {**os.environ, "PYTHONPATH": f"{SOURCES}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.stderr == "", done.stderr
    return done.stdout.strip()


def refusal(pid):
    tracees = Tracees()
    try:
        with pytest.raises(CommandError) as caught:
            tracees.grab(pid)
        return str(caught.value)
    finally:
        tracees.close()


def test_no_such_process():
    assert refusal(4194303) == ("failed to grab pid 4194303: no process has this number: `ps -e` lists those there are")


def test_a_thread_of_the_kernel():
    if not Path("/proc/2/comm").exists() or Path("/proc/2/comm").read_text() != "kthreadd\n":
        pytest.skip("no threads of the kernel are seen here")
    assert "it is a thread of the kernel" in refusal(2)


def test_sonde_itself():
    assert "it is sonde itself" in refusal(os.getpid())


def test_a_thread_is_not_its_process():
    text = "import threading, time; threading.Thread(target=time.sleep, args=(9,)).start(); print(flush=True)"
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        (other,) = {int(name) for name in os.listdir(f"/proc/{child.pid}/task")} - {child.pid}
        assert f"it is a thread: trace its process by -p {child.pid}" in refusal(other)
    finally:
        child.kill()
        child.wait()


def test_what_has_ended():
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert "it has ended and only waits for its parent" in refusal(child.pid)
    child.wait()


def test_what_is_traced_already():
    from test_guardian_signals import SLEEPER

    child = subprocess.Popen([program(SLEEPER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    first = Tracees()
    first.grab(child.pid)
    assert f"it is already traced by process {first.guardian} (sonde-guardian): end that first" in refusal(child.pid)
    first.close()
    child.stdin.close()
    assert child.wait() == 4


def test_another_users():
    if os.getuid() == 0:
        assert "it belongs to user root: be that user, or root" in said(GRAB % os.getpid())
    elif Path("/proc/1").owner() == "root":
        assert "it belongs to user root: be that user, or root" in refusal(1)
    else:
        pytest.skip("no process of another user")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to make a process with two users' rights")
def test_a_program_with_other_rights():
    text = "import os, time; os.setresgid(*3 * [65534]); os.setresuid(65534, 0, 65534); print(flush=1); time.sleep(9)"
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        assert "it runs a setuid program, with rights of user 0" in said(GRAB % child.pid)
    finally:
        child.kill()
        child.wait()


def test_what_has_made_itself_untraceable():
    child = subprocess.Popen([program(UNTRACEABLE)], stdout=subprocess.PIPE, **ORDINARY)
    try:
        child.stdout.readline()
        assert "or has made itself untraceable (PR_SET_DUMPABLE): be root" in said(GRAB % child.pid)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("seccomp", [True, False])
def test_a_container_that_refuses_ptrace_to_a_command(seccomp):
    assert said(START % seccomp, [PTRACE]) == (
        "failed to trace the command, true: a seccomp profile refuses ptrace, as containers' default ones do on old "
        "kernels: with Docker: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined"
    )


def test_a_container_that_refuses_ptrace_to_a_process():
    child = subprocess.Popen(["sleep", "9"], **ORDINARY)
    assert "a seccomp profile refuses ptrace, as containers'" in said(GRAB % child.pid, [PTRACE])
    os.kill(child.pid, signal.SIGKILL)
    child.wait()


@pytest.mark.share(1)
@pytest.mark.parametrize("refused", [[], [VM_READ], [VM_READ, VM_WRITE]])
def test_memory_is_read_where_a_container_refuses_the_bulk_calls(refused):
    assert said(READ, refused) == "(b'/dev/null', b'some')"


def test_an_ordinary_user_traces_a_command():
    assert said(START % True) == said(START % False) == ""


def test_a_container_that_refuses_all_ways_to_memory():
    script = READ.replace(
        "    text = ",
        "    try: tracees.memory.read(stop.tid, stop.sp, 8)\n"
        "    except OSError as error: found.append(error.strerror); return\n    text = ",
    )
    assert said(script, [VM_READ, PREADV, PREADV2]) == (
        "process_vm_readv(2) and /proc/PID/mem refuse a traced process's memory (Operation not permitted), as "
        "containers' profiles do: with Docker: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined"
    )


def test_a_command_that_is_given_up_never_runs(capfd):
    tracees = Tracees()
    pid = tracees.start("echo something")
    tracees.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 127
    assert capfd.readouterr().out == ""


def test_what_cannot_be_run_is_named():
    tracees = Tracees()
    tracees.start("/no/such/program")
    with pytest.raises(CommandError, match="failed to run /no/such/program: No such file or directory"):
        tracees.begin(StopPlan())
    tracees.close()
