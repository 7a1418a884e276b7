"""In a new pid namespace pid, tid, ppid and $target are those of that namespace."""

import shutil
import subprocess

import pytest
from access import needs
from activity import activity
from command import SONDE, environment

pytestmark = needs("CAP_SYS_ADMIN")


def in_namespace(script, *options):
    """The output of a shell script that is process 1 of a new pid namespace."""
    if not shutil.which("unshare"):
        pytest.skip("no unshare")
    words = ["unshare", "--pid", "--fork", "--kill-child", *options, "sh", "-c", script, SONDE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


SHOWN = '{ printf("%d %d %d %d %d\\n", pid, tid, ppid, $target, $pid); }'


@pytest.mark.parametrize("options", [("--mount-proc",), ()])
def test_a_command_has_the_numbers_of_the_namespace(options):
    """sonde is 2 there and its command 3: in predicates, printed, as keys, and with /proc mounted anew or not."""
    program = f"BEGIN {SHOWN} syscall::exit_group:entry /pid == $target && ppid == $pid/ {SHOWN}"
    out = in_namespace(f"$0 -qc /bin/true -n '{program}'; true", *options)
    assert [line for line in out.splitlines() if line] == ["2 2 1 3 2", "3 3 2 3 2"]


@pytest.mark.parametrize("options", [("--mount-proc",), ()])
def test_a_process_has_the_number_of_the_namespace(options):
    program = f"syscall::exit_group:entry /pid == $target/ {SHOWN}"
    out = in_namespace(f"sleep 0.7 & $0 -qp $! -n '{program}'; true", *options)
    assert [line for line in out.splitlines() if line] == ["2 2 1 2 3"]


def test_processes_outside_have_no_numbers():
    """The first process has no parent there; those of other namespaces are all 0."""
    with activity():
        out = in_namespace(
            'exec $0 -qn \'BEGIN { printf("%d %d %d\\n", pid, tid, ppid); } '
            "sched_switch /!pid/ { @[pid, tid, ppid] = count(); } tick-300ms { exit(0); }'",
            "--mount-proc",
        )
    lines = [line.split() for line in out.splitlines() if line]
    assert lines[0] == ["1", "1", "0"]
    assert [line[:3] for line in lines[1:]] == [["0", "0", "0"]]


def test_user_addresses_have_names_in_a_namespace():
    """Stacks and symbols carry the namespace's numbers, by which /proc knows the process."""
    text = "syscall::openat:entry /pid == $target/ { @[ustack(1)] = count(); @s[umod(ucaller)] = count(); }"
    out = in_namespace(f"$0 -qc 'cat /etc/hostname' -n '{text}'; true", "--mount-proc")
    assert "libc" in out or "ld-linux" in out
