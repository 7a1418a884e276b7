"""In a new pid namespace pid, tid, ppid and $target are those of that namespace."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.command.command import SONDE, build, environment, start
from support.machine import packages
from support.machine.access import needs
from support.machine.activity import activity

pytestmark = needs("CAP_SYS_ADMIN")


def in_namespace(script, *options):
    """The output of a shell script that is process 1 of a new pid namespace."""
    packages.require("unshare")
    words = ["unshare", "--pid", "--fork", "--kill-child", *options, "sh", "-c", script, SONDE]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


SHOWN = '{ printf("%d %d %d %d %d\\n", pid, tid, ppid, $target, $pid); }'


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [("--mount-proc",), ()])
def test_a_command_has_the_numbers_of_the_namespace(options):
    """sonde is 2 there and its command 3: in predicates, printed, as keys, and with /proc mounted anew or not."""
    program = f"BEGIN {SHOWN} syscall::exit_group:entry /pid == $target && ppid == $pid/ {SHOWN}"
    out = in_namespace(f"\"$0\" -qc /bin/true -n '{program}'; true", *options)
    assert [line for line in out.splitlines() if line] == ["2 2 1 3 2", "3 3 2 3 2"]


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [("--mount-proc",), ()])
def test_a_process_has_the_number_of_the_namespace(options, tmp_path):
    """The process ends as soon as tracing has begun."""
    os.mkfifo(tmp_path / "begun")
    program = f'BEGIN {{ system("echo > {tmp_path}/begun"); }} syscall::exit_group:entry /pid == $target/ {SHOWN}'
    out = in_namespace(f"read line < {tmp_path}/begun & \"$0\" -wqp $! -n '{program}'; true", *options)
    assert [line for line in out.splitlines() if line] == ["2 2 1 2 3"]


def test_processes_outside_have_no_numbers():
    """The first process has no parent there; those of other namespaces are all 0. A process of this one that is being
    reaped has lost its number, and has a parent still."""
    with activity():
        out = in_namespace(
            'exec "$0" -qn \'BEGIN { printf("%d %d %d\\n", pid, tid, ppid); } '
            "sched_switch /!pid/ { @[pid, tid, ppid] = count(); } tick-300ms { exit(0); }'",
            "--mount-proc",
        )
    lines = [line.split() for line in out.splitlines() if line]
    assert lines[0] == ["1", "1", "0"]
    found = [line[:3] for line in lines[1:]]
    assert ["0", "0", "0"] in found
    assert all(each in (["0", "0", "0"], ["0", "0", "1"]) for each in found)


def test_user_addresses_have_names_in_a_namespace():
    """Stacks and symbols carry the namespace's numbers, by which /proc knows the process."""
    text = "syscall::openat:entry /pid == $target/ { @[ustack(1)] = count(); @s[umod(ucaller)] = count(); }"
    out = in_namespace(f"\"$0\" -qc 'cat /etc/hostname' -n '{text}'; true", "--mount-proc")
    assert "libc" in out or "ld-linux" in out


def test_numbers_of_a_namespace_have_no_generations():
    """Events of mappings have other numbers there than the slots that programs look at."""
    program = "import sonde; made = sonde.compile('syscall::openat:entry { @[ustack(2)] = count(); }')"
    program += "; print(any(each.name == 'generations' for each in made.spec.maps))"
    here = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    there = in_namespace(shlex.join([sys.executable, "-c", program]), "--mount-proc")
    assert (here, there) == ("True\n", "False\n")


def test_functions_of_a_process_in_a_namespace():
    program = 'pid$target:libc:exit:entry { printf("%d %d\\n", pid, arg0); }'
    out = in_namespace(f"\"$0\" -qc /bin/true -n '{program}'; true", "--mount-proc")
    assert [line for line in out.splitlines() if line] == ["3 0"]


def test_functions_of_a_process_where_proc_is_anothers():
    """The numbers there are those of other processes."""
    script = "\"$0\" -qc /bin/true -n 'pid$target:libc:exit:entry' 2>&1; true"
    assert "that of another pid namespace: mount one" in in_namespace(script)


def test_functions_of_a_process_in_namespaces_of_its_own(tmp_path):
    """Its root directory, mounts and pids are others; to sonde it has the number that sonde sees."""
    code = r"""
    #include <unistd.h>
    __attribute__((noinline)) int inside(int n) { asm volatile("" : "+r"(n)); return n + 1; }
    int main() { char b; write(1, "x", 1); read(0, &b, 1); return inside(getpid()) + inside(4) != 7; }
    """
    build(tmp_path, "program", code, "-static")
    words = ["unshare", "--pid", "--fork", "--mount", "--kill-child", "chroot", str(tmp_path), "/program"]
    packages.require("unshare")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as outer:
        assert outer.stdout.read(1) == b"x"
        (pid,) = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        text = f"""
        BEGIN {{ printf("on\\n"); }}
        pid{pid}:a.out:inside:entry {{ printf("%d %d\\n", pid == {pid}, arg0); }}
        pid{pid}:a.out:inside:return {{ printf("%d\\n", arg1); }}
        """
        with start("-q", "-p", pid, "-n", text) as tracer:
            assert tracer.stdout.readline() == b"on\n"
            outer.stdin.close()
            assert tracer.communicate()[0].split() == [b"1", b"1", b"2", b"1", b"4", b"5"]
        assert outer.wait() == 0
