#!/usr/bin/env python3
"""Kill the tracer at random moments: what it traced must end as if nothing had been. `survival.py [RUNS [SEED]]`.

The target has several threads that fork, vfork and exec, and finds out if a system call fails that should not. Each run
traces it in one of several ways, with a command's filter or a process's every call stopped, with stops posted or held,
with a ring that is full or not, with breakpoints in
functions; and kills the tracer, or its whole process group, by SIGKILL: at any time from its own
start on, or once the target runs; in some runs its notifier is killed before that and after it. The status is 1 if any
target was harmed.
"""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [f"{ROOT}/src", f"{ROOT}/tests"]

from support.command import targets  # noqa: E402 - of the tests
from support.machine.processes import children  # noqa: E402 - of the tests

ROUNDS = 60
PATIENCE = 60


def ways(pick):
    """What follow_all.py is to do."""
    spec = {
        "calls": pick.choice([1, 2, 3, 7, 15]),
        "held": pick.choice([[], [], [3, 4, 5, 6]]),
        "slots": pick.choice([64, 1 << 14]),
        "busy": pick.choice([0, 0, 0.001]),
        "seccomp": pick.random() < 0.8,
        "evaluation": pick.choice(["exec", "postinit"]),
    }
    if pick.random() < 0.1:
        spec["limit"] = pick.randrange(2000)
    return spec


PROGRAMS = [
    "syscall:::entry { @[probefunc] = count() }",
    "syscall:::return { @[execname, probefunc] = count() } proc::: { @p[probename] = count() }",
    "syscall::openat:entry { @[copyinstr(arg1)] = count() } syscall::read:return { @s[ustack()] = count() }",
    "pid$target:a.out::entry, pid$target:a.out::return { @[probefunc, probename] = count() }",
    "pid$target:libc:*rite:entry, pid$target:libc:fork:entry { @[ustack()] = count() } syscall::: { @s = count() }",
    "uprobe:libc:pthread_create:entry, uprobe:libc:*fork:return { @[probefunc, arg1] = count() }",
    "uprobe:PROGRAM:*:return, uprobe:libc:*rite*:return { @[probefunc] = count() }",
]


def words(pick, spec, program):
    """The command line of what traces: sonde itself in one of four runs, else the least that there is."""
    if pick.random() < 0.5:
        return [f"{ROOT}/tests/support/command/follow_all.py", json.dumps(spec)]
    target = ["-p", str(spec["pid"])] if "pid" in spec else ["-c", spec["command"]]
    filtered = "on" if spec["seccomp"] else "off"
    options = ["-q", "--engine", "embedded", "-o", "/dev/null", f"-xseccomp={filtered}", "-n"]
    options.append(pick.choice(PROGRAMS).replace("PROGRAM", program))
    return ["-c", "import sys; from sonde.cli.main import main; sys.exit(main())", *options, *target]


def run(pick, program):
    """One run: None, or what went wrong."""
    spec = ways(pick)
    attach = pick.random() < 0.3
    reader, writer = os.pipe()
    arguments = [program, str(ROUNDS)]
    target = None
    if attach:
        target = subprocess.Popen(arguments, stdout=writer)
        spec["pid"] = target.pid
    else:
        spec["command"] = " ".join(arguments)
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is gone with the last who has it
    tracer = subprocess.Popen(
        [sys.executable, *words(pick, spec, program)],
        stdout=writer,
        stderr=errors,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src"},
    )
    os.close(writer)
    output = b""
    if pick.random() < 0.7:
        output = read(reader, b"\n")
        time.sleep(pick.random() * 0.3)
    else:
        time.sleep(pick.random() * 0.8)
    guardians = named(tracer.pid, "sonde-guardian") if pick.random() < 0.5 else []
    kill_notifiers(guardians)
    (os.killpg if pick.random() < 0.5 else os.kill)(tracer.pid, signal.SIGKILL)
    killed = tracer.wait() == -signal.SIGKILL
    kill_notifiers(guardians)
    output += read(reader)
    os.close(reader)
    expected = targets.forest_output(ROUNDS).encode()
    if output != expected and (output or attach):
        errors.seek(0)
        return f"{spec}: {output!r}, {errors.read()!r}"
    if target and target.wait() != 7:
        return f"{spec}: status {target.returncode}"
    return None if killed else ""


def named(parent, name):
    """The processes that call themselves so, of those that `parent` has made."""
    found = []
    with contextlib.suppress(OSError):
        for pid in children(parent):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text() == name + "\n":
                    found.append(pid)
    return found


def kill_notifiers(guardians):
    """Others take over."""
    for guardian in guardians:
        for pid in named(guardian, "sonde-notifier"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def read(pipe, end=None):
    """What comes until all who can write have ended, or up to `end`."""
    data = b""
    limit = time.monotonic() + PATIENCE
    while not (end and end in data):
        if not select.select([pipe], [], [], max(limit - time.monotonic(), 0))[0]:
            return data + b" ... and still running"
        piece = os.read(pipe, 4096)
        if not piece:
            break
        data += piece
    return data


def main(runs, seed):
    program = targets.program(targets.FOREST)
    pick = random.Random(seed)
    problems, in_time = [], 0
    for number in range(runs):
        problem = run(pick, program)
        in_time += problem is None
        if problem:
            problems.append(problem)
            print(f"run {number}: {problem}")
    print(f"{runs} runs, {in_time} killed in time, {len(problems)} targets harmed")
    return bool(problems)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*given, *(500, 1)[len(given) :]))
