"""Other scripts over the recording of a session give what they gave live, or are told by name what it does not hold:
all of them trace the one run that is recorded."""

import os
import re
import subprocess
import sys

import pytest
from support.command.command import sonde, start, unwrapped

WORK = """
read go <{fifo}
for i in 1 2 3 4 5 6 7; do cat /etc/passwd /nowhere /etc/hostname; done >/dev/null 2>&1
for name in one two three; do mkdir {folder}/$name; echo $name >{folder}/$name/file; done
mv {folder}/one/file {folder}/moved; rm -r {folder}/two
(exit 3); (kill -USR1 $BASHPID 2>/dev/null); ls -l / {folder} >/dev/null
{python} -c 'import os, threading
for i in range(5):
    t = threading.Thread(target=os.getpgid, args=(0,)); t.start(); t.join()
os.pipe()
for size in (1, 70, 3000): os.lseek(os.open("/etc/passwd", 0), size, 0)'
"""

CALLS = ("openat", "newfstatat", "mkdir", "renameat2", "unlinkat", "dup2", "pipe2", "lseek", "getdents64", "getpgid")
"""Calls that are recorded. The whole machine's are, so none is among them of which it makes very many."""


def calls(script):
    """A script whose ENTRY and RETURN stand for these calls' probes."""
    for name in ("entry", "return"):
        script = script.replace(name.upper(), ", ".join(f"syscall::{each}:{name}" for each in CALLS))
    return script


RECORDED = """
ENTRY, RETURN, proc:::, rawtp:::sched_process_fork /progenyof($target)/ { @ = count(); }
syscall::openat:entry, syscall::newfstatat:entry, syscall::renameat2:entry, syscall::unlinkat:entry
/progenyof($target)/ { this->path = copyinstr(arg1); }
syscall::mkdir:entry /progenyof($target)/ { this->path = copyinstr(arg0); }"""
"""Paths are asked for: what is in absent pages by the entry is found when the call returns."""

SAME = {
    "calls by name": "ENTRY /progenyof($target)/ { @[probefunc] = count(); }",
    "errors by call": "RETURN /errno && progenyof($target)/ { @[execname, probefunc, errno] = count(); }",
    "paths that are opened": """
        syscall::openat:entry /progenyof($target)/ { @[execname, copyinstr(arg1), arg2] = count(); }""",
    "paths and results": """
        syscall::openat:entry, syscall::newfstatat:entry /progenyof($target)/ { self->path = copyinstr(arg1); }
        syscall::openat:return, syscall::newfstatat:return /self->path != NULL/ {
            @[basename(self->path), probefunc, (int)arg0 < 0 ? errno : 0] = count(); self->path = NULL; }""",
    "sizes": """
        syscall::lseek:return, syscall::getdents64:return /progenyof($target) && arg0 > 0/ {
            @q[probefunc] = quantize(arg0); @s[execname] = sum(arg0); @m = max(arg0);
            @l = llquantize(arg0, 10, 0, 5, 2); }""",
    "a balance by process": """
        proc:::create /progenyof($target)/ { @["made", execname] = count(); }
        proc:::exec-success /progenyof($target)/ { @["executed", execname] = count(); ran[pid] = 1; }
        proc:::exit /progenyof($target)/ { @e[ran[pid]] = count(); ran[pid] = 0; }""",
    "the order of calls": """
        syscall::mkdir:entry, syscall::renameat2:entry, syscall::unlinkat:entry
        /progenyof($target)/ {
            printf("%s %s %s\\n", execname, probefunc, copyinstr(probefunc == "mkdir" ? arg0 : arg1)); }""",
    "threads and parents": """
        syscall::getpgid:return /progenyof($target)/ { printf("%d %d\\n", arg0 > 0, errno); }
        proc:::lwp-exit /progenyof($target)/ { @[execname, pid == tid] = count(); }""",
    "pairs of calls": """
        self string last;
        ENTRY /progenyof($target)/ {
            @[self->last == NULL ? "-" : self->last, probefunc] = count(); self->last = probefunc; }""",
    "loops over arguments": """
        syscall::openat:entry /progenyof($target)/ {
            this->n = 0; this->i = 0;
            while (this->i < 20) { this->n += (arg2 >> this->i) & 1; this->i++; }
            @[this->n] = count(); }""",
    "the forks of the tracepoint": "rawtp:::sched_process_fork /progenyof($target)/ { @[execname] = count(); }",
    "stacks of the kernel": """
        syscall::mkdir:entry, proc:::exit /progenyof($target)/ { @[probename, stack()] = count(); }""",
    "a session that ends itself": """
        syscall::openat:entry /progenyof($target)/ { n++; }
        syscall::openat:entry /n == 31/ { printf("%s\\n", execname); exit(0); }""",
}
"""Scripts that find all they ask for in the recording."""

MISSING = {
    "a probe": ("sched:::on-cpu { @ = count(); }", r"does not hold sched:vmlinux::on-cpu"),
    "memory": (
        "syscall::openat:entry /progenyof($target)/ { trace(*(char *)copyin(arg1 + 4000, 1)); }",
        r"does not hold memory of the process of \d+ firings of syscall:vmlinux:openat:entry",
    ),
    "a member of a structure": (
        "rawtp:::sched_process_fork /progenyof($target)/ { @[args[1]->nvcsw] = count(); }",
        r"does not hold .* of \d+ firings of rawtp:sched::sched_process_fork",
    ),
    "a descriptor's path": (
        "syscall::openat:entry /progenyof($target)/ { @[fds[arg0].fi_pathname] = count(); }",
        r"does not hold .* firings of syscall:vmlinux:openat:entry",
    ),
}
"""Scripts, and what they are told."""


def session(script, process, *options):
    """A session of its own, which says so when all its probes are attached."""
    begun = calls(script) + ' BEGIN { printf("begun\\n"); }'
    return start("-q", "-b", "32m", *options, "-n", begun, "-p", str(process), text=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The recording, and what each of the scripts has shown of the same run."""
    folder = tmp_path_factory.mktemp("others")
    fifo, path, room = folder / "fifo", str(folder / "it.rec"), folder / "room"
    os.mkfifo(fifo)
    room.mkdir()
    text = WORK.format(fifo=fifo, folder=room, python=sys.executable)
    with subprocess.Popen(["bash", "-c", text]) as work:
        recorder = session(RECORDED, work.pid, "--record", path, "--record-reads")
        runs = {name: session(script, work.pid) for name, script in SAME.items()}
        try:
            for run in (recorder, *runs.values()):
                assert run.stdout.readline() == "begun\n", run.stderr.read()
            fifo.write_text("go\n")
            shown = {name: run.communicate() for name, run in runs.items()}
            assert not recorder.communicate()[1]
        finally:
            for run in (work, recorder, *runs.values()):
                run.kill()
    return path, shown


@pytest.mark.share(0, 4)
@pytest.mark.parametrize("name", SAME)
def test_a_replay_gives_what_the_script_gave_live(recorded, name):
    path, shown = recorded
    done = sonde("-q", "--replay", path, "-n", calls(SAME[name]))
    assert (done.stdout, done.stderr) == shown[name]
    assert done.stdout.strip()


@pytest.mark.long
@pytest.mark.parametrize("name", MISSING)
def test_a_replay_names_what_the_recording_does_not_hold(recorded, name):
    script, told = MISSING[name]
    done = sonde("-q", "--replay", recorded[0], "-n", script, status=1 if name == "a probe" else 0)
    assert re.search(told, unwrapped(done.stderr)), done.stderr
