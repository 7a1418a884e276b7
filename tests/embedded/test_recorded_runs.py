"""`--record` and `--replay` of what the embedded engine traces: a replay shows what the run has shown, and other
scripts find what is there."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine import compilers

SONDE = str(Path(sys.executable).parent / "sonde")
WORK = (
    "sh -c 'for i in 1 2 3 4 5 6 7; do cat /etc/passwd /nowhere; done >/dev/null 2>&1; ls / >/dev/null;"
    " while [ $((n += 1)) -lt 5000 ]; do :; done'"
)

SCRIPTS = {
    "calls by name": "syscall:::entry { @[execname, probefunc] = count(); }",
    "a string read at the return": """
        syscall::openat:entry { self->path = arg1; self->t = timestamp; }
        syscall::openat:return /self->path/ {
            printf("%s %d %d %d\\n", copyinstr(self->path), arg0, errno, timestamp - self->t); self->path = 0;
        }""",
    "processes": """
        proc:::create { trace(args[0]->pr_pid); trace(execname); }
        proc:::exec-success { printf("%s %d %d\\n", curpsinfo->pr_psargs, ppid, uid); }
        proc:::exit { trace(arg0); }
        proc:::signal-send { trace(args[2]); trace(args[1]->pr_fname); }""",
    "user stacks": "syscall::openat:entry { @[ustack(4)] = count(); }",
    "speculations": """
        syscall::openat:entry { self->s = speculation(); speculate(self->s); printf("%s", copyinstr(arg1)); }
        syscall::openat:return /self->s && errno/ { commit(self->s); self->s = 0; }
        syscall::openat:return /self->s/ { discard(self->s); self->s = 0; }""",
    "BEGIN, END and clocks": """
        BEGIN { printf("%d %d\\n", pid, timestamp); }
        syscall::write:entry { x++; printf("%Y %d\\n", walltimestamp, arg2); }
        tick-10ms { n++; }
        END { printf("end %d %d %d\\n", x, n > 0, timestamp); }""",
    "paths of descriptors": 'syscall::write:entry { printf("%s %d\\n", fds[arg0].fi_pathname, arg2); }',
    "random numbers": 'syscall::close:entry { printf("%d %d\\n", rand(), rand()); }',
    "CPU time": """
        syscall::write:entry { self->v = vtimestamp; }
        syscall::write:return /self->v/ { printf("%d\\n", vtimestamp - self->v); }""",
    "cleared aggregations": """
        syscall:::entry { @a[probefunc] = count(); }
        tick-20ms { printa("%s %@d\\n", @a); clear(@a); }""",
    "samples of threads": 'profile-997 { @[execname] = count(); } tick-50ms { printf("%d\\n", i++); }',
    "faults": "syscall::openat:entry { trace(copyinstr(arg2)); } ERROR { trace(arg4); }",
}


def sonde(*words, status=0):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DTRACE_")}
    done = subprocess.run([SONDE, "-q", *words], capture_output=True, text=True, env=kept)
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


@pytest.mark.share(1, 6)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_replay_shows_what_the_run_has_shown(tmp_path, name):
    path = str(tmp_path / "it.rec")
    live = sonde("--engine", "embedded", "--record", path, "-n", SCRIPTS[name], "-c", WORK)
    assert live.stdout.strip()
    assert sonde("--replay", path, "-n", SCRIPTS[name]).stdout == live.stdout


FUNCTION = """
#include <fcntl.h>
int work(int a, char *s) { return a + s[0]; }
int main() { int s = open("/nowhere", 0) * 0; for (int i = 0; i < 7; i++) s += work(i, "hello"); return s & 1; }
"""


@pytest.mark.long
def test_functions_of_a_process_that_is_gone(tmp_path):
    program, path = compilers.built("work.c", FUNCTION, "gcc", "-O0", "-g"), str(tmp_path / "it.rec")
    script = """
        pid$target:work:work:entry { @[arg0] = count(); printf("%s\\n", copyinstr(arg1)); ustack(3); }
        pid$target:work:work:return { @r = sum(arg1); }"""
    live = sonde("--engine", "embedded", "--record", path, "-n", script, "-c", program)
    assert live.stdout.count("hello") == 7
    assert live.stdout.count("`main+") == 7
    assert sonde("--replay", path, "-n", script).stdout == live.stdout
    other = sonde("--replay", path, "-n", "pid$target:work:work:entry { @ = sum(arg0); }")
    assert other.stdout.split() == ["21"]


def test_another_script_finds_arguments_threads_and_times(tmp_path):
    path = str(tmp_path / "it.rec")
    sonde("--engine", "embedded", "--record", path, "-n", "syscall::openat: {}", "-c", WORK)
    script = """
        syscall::openat:entry { self->t = timestamp; }
        syscall::openat:return /self->t && errno == 2 && execname == "cat"/ {
            @ = count(); @m = max(timestamp - self->t);
        }"""
    count, most = map(int, sonde("--replay", path, "-n", script).stdout.split())
    assert count >= 7
    assert 0 < most < 10**10


CHANGES = """
import os
if not os.geteuid():
    os.setgid(4)
if not os.fork():
    os.getppid()
    os.execv("/proc/self/exe", ["python3", "-IS", "-c", "import os; os.getpgid(0)"])
os.wait()
"""


def test_names_and_identities_are_recorded_though_no_program_asks_for_them(tmp_path):
    """Of threads that change them, and end before anybody looks at /proc."""
    path, program = str(tmp_path / "it.rec"), tmp_path / "changes.py"
    program.write_text(CHANGES)
    calls = "syscall::getppid:entry, syscall::getpgid:entry, syscall::wait4:entry"
    command = shlex.join([sys.executable, "-IS", str(program)])
    sonde("--engine", "embedded", "--record", path, "-n", f"{calls} {{}}", "-c", command)
    script = f'{calls} {{ printf("%s %s %d\\n", probefunc, execname, gid); }}'
    shown = sonde("-q", "--replay", path, "-n", script).stdout
    lines = [line.split() for line in shown.splitlines() if line]
    found = {call: (name, int(gid)) for call, name, gid in lines}
    gid = os.getgid() if os.geteuid() else 4
    assert found.keys() == {"getppid", "getpgid", "wait4"}
    assert found["getpgid"] == ("exe", gid)
    assert found["getppid"] == found["wait4"] == (Path(sys.executable).name[:15], gid)


@pytest.mark.long
def test_what_is_missing_is_told_once(tmp_path):
    path = str(tmp_path / "it.rec")
    sonde("--engine", "embedded", "--record", path, "-n", "syscall::openat: {}", "-c", WORK)
    clauses = ("trace(copyinstr(arg1));", "trace(fds[arg0].fi_pathname);", "trace(vtimestamp);", "trace(ucaller);")
    script = "".join(f"syscall::openat:entry {{ {each} }}" for each in clauses)
    told = sonde("--replay", path, "-n", script).stderr.splitlines()
    assert len(told) == len(clauses)
    assert all(each.startswith("sonde: the recording does not hold ") for each in told)


@pytest.mark.long
def test_what_no_script_asked_for_is_there_with_record_reads(tmp_path):
    program = compilers.built("work.c", FUNCTION, "gcc", "-O0", "-g", "-fno-omit-frame-pointer")
    path = str(tmp_path / "it.rec")
    asked = "syscall::openat: {} pid$target:work:work: {} proc:::exit {}"
    sonde("--engine", "embedded", "--record-reads", "--record", path, "-n", asked, "-c", program)
    script = """
        syscall::openat:entry { @[copyinstr(arg1)] = count(); }
        pid$target:work:work:entry { printf("%s\\n", copyinstr(arg1)); ustack(3); }
        proc:::exit { ustack(5); }"""
    done = sonde("--replay", path, "-n", script)
    assert not done.stderr
    assert done.stdout.count("hello\n") == 7
    assert done.stdout.count("`main+") == 7
    assert done.stdout.count("`_exit") == 1
    assert "/nowhere " in done.stdout
