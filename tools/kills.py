#!/usr/bin/env python3
"""End sonde in many ways at random moments: nothing may be harmed, hang or stay behind. `kills.py [RUNS [SEED]]`.

The kinds: SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT and two SIGINTs for sonde, SIGKILL for its guardian and for what
it traces, a reader that goes away, a terminal that is hung up. Each run traces a program with threads that fork, vfork
and exec, by -c or -p, in the kernel (as root) or on the embedded engine; two of the programs have breakpoints in its
functions and where they return to. Afterwards: sonde has ended in time, with a
status that docs/reference.md has and without a traceback; what it traced has said and done all that it does alone;
END's output is there where the trace was ended and not killed; no process and no map is left. The status is 1 if any of
that is not so.
"""

import collections
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [f"{ROOT}/src", f"{ROOT}/tests", f"{ROOT}/tools"]

from kernel_maps import map_names  # noqa: E402
from support.command import targets  # noqa: E402 - of the tests

ROUNDS, ROUNDS_ATTACHED, ROUNDS_UNREAD = 40, 1500, 200
"""Of the traced program: as a command, as a process, and as one whose end sonde waits for, having no reader."""

PATIENCE = 5
"""Seconds in which sonde has to end."""

LONGEST = 60
"""Seconds in which what is traced has to end, on a busy machine."""

SIGNALS = {
    "SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "SIGHUP": signal.SIGHUP,
    "SIGQUIT": signal.SIGQUIT,
}  # fmt: skip
KINDS = [*SIGNALS, "two SIGINT", "guardian", "target", "reader", "terminal"]

STATUSES = {
    "SIGKILL": {-9}, "SIGTERM": {0, -15}, "SIGINT": {0, -2}, "SIGHUP": {-1}, "SIGQUIT": {-3},
    "two SIGINT": {0, -2, 130}, "guardian": {0, 1}, "target": {0}, "reader": {0, -13}, "terminal": {-1},
}  # fmt: skip
"""Of sonde; 0 also where it had ended before."""

PROGRAMS = [
    'syscall:::entry { printf("%s %s\\n", execname, probefunc); }',
    "syscall:::entry { @[probefunc] = count(); }",
    "syscall:::return { @[execname, probefunc] = quantize(arg1); } proc::: { @p[probename] = count(); }",
    "syscall::openat:entry { @[copyinstr(arg1)] = count(); } syscall::read:return { @s[ustack()] = count(); }",
    'pid$target:libc.so.6:write:entry { printf("%d\\n", tid); } syscall::write:entry { ts[tid] = timestamp; }',
    "uprobe:PROGRAM:leaf:entry, uprobe:PROGRAM:leaf:return { @f[probefunc, probename] = count(); }",
    "uprobe:PROGRAM:leaf:return { @f = count(); @s[ustack()] = count(); } proc::: { @p[probename] = count(); }",
]
END = ' END { printf("the end\\n"); }'

PYTHON_ITSELF = re.compile(r"Fatal Python error: init_|(?s:\ATraceback(?!.*sonde/cli/main).*KeyboardInterrupt)")
"""What Python says of a SIGINT before the first line of sonde."""


def as_by_default():
    """A shell's background ignores SIGINT and SIGQUIT, nohup SIGHUP, and so would all that they start."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Run:
    """One run in a directory of its own, whose name its processes have in their environment."""

    def __init__(self, pick, directory, program, engines):
        self.pick, self.program, self.directory = pick, program, Path(directory)
        self.mark = f"kill{pick.randrange(10**6):06}"
        self.kind = pick.choice(KINDS)
        self.engine = pick.choice(engines)
        self.is_attached = self.kind == "terminal" or pick.random() < 0.4
        self.rounds = (ROUNDS_UNREAD if self.kind == "reader" else ROUNDS_ATTACHED) if self.is_attached else ROUNDS
        self.output = self.directory / "output"
        self.target = None
        self.problems = []
        self.has_struck = False

    def words(self):
        # The name of this array is that of a map.
        traced = self.pick.choice(PROGRAMS).replace("PROGRAM", self.program)
        program = traced + f' BEGIN {{ {self.mark}[1] = 1; printf("begun\\n"); }}' + END
        command = f"sh -c '{self.program} {self.rounds} > {self.output}; echo status $? >> {self.output}'"
        traced = ["-p", str(self.target.pid)] if self.is_attached else ["-c", command]
        filtered = ["-xseccomp=no"] if self.pick.random() < 0.2 else []
        start = "import sys; from sonde.cli.start import main; sys.exit(main())"
        return [sys.executable, "-c", start, "-q", "--engine", self.engine, *filtered, "-n", program, *traced]

    def start(self):
        """sonde in a session of its own, and what reads its output: a pipe or a terminal."""
        self.environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src", "SONDE_KILL_RUN": self.mark}
        if self.is_attached:
            with self.output.open("wb") as file:
                self.target = subprocess.Popen([self.program, str(self.rounds)], stdout=file, start_new_session=True)
        words = self.words()
        errors = (self.directory / "errors").open("wb")
        if self.kind == "terminal":
            self.reader, end = os.openpty()
            words = ["setsid", "--ctty", *words]
        else:
            self.reader, end = os.pipe()
        session = {} if self.kind == "terminal" else {"start_new_session": True}
        self.sonde = subprocess.Popen(
            words, stdin=end if self.kind == "terminal" else subprocess.DEVNULL, stdout=end, stderr=errors,
            env=self.environment, preexec_fn=as_by_default, **session,
        )  # fmt: skip
        os.close(end)
        errors.close()
        os.set_blocking(self.reader, False)
        self.printed = b""

    def read(self, seconds, until=lambda: False):
        """Take what is printed for so long, or until that is so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            try:
                if self.reader is not None and (piece := os.read(self.reader, 65536)):
                    self.printed += piece
                    continue
            except BlockingIOError:
                pass
            except OSError:
                # The other end of a terminal has gone.
                pass
            time.sleep(0.002)

    def strike(self):
        """Do what this run is for, at its moment."""
        if self.pick.random() < 0.7:
            self.read(20, lambda: b"begun" in self.printed or self.sonde.poll() is not None)
            self.read(self.pick.random() * 0.3)
        else:
            self.read(self.pick.random() * 0.9)
        if self.kind in SIGNALS:
            self.sonde.send_signal(SIGNALS[self.kind])
        elif self.kind == "two SIGINT":
            self.sonde.send_signal(signal.SIGINT)
            self.read(self.pick.random() * 0.1)
            self.sonde.send_signal(signal.SIGINT)
        elif self.kind in ("reader", "terminal"):
            os.close(self.reader)
            self.reader = None
        else:
            self.kill_other()

    def kill_other(self):
        """The guardian, or what is traced."""
        children = children_of(self.sonde.pid)
        names = {pid: name_of(pid) for pid in children}
        if self.kind == "guardian":
            chosen = [pid for pid, name in names.items() if name == "sonde-guardian"]
        elif self.target is not None:
            chosen = [self.target.pid]
        else:
            chosen = [pid for pid, name in names.items() if not name.startswith("sonde-")]
        self.has_struck = bool(chosen)
        for pid in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # A killed guardian takes a command with it, whose filter needs it.
        if not chosen:
            self.sonde.send_signal(signal.SIGTERM)

    def check(self):
        begun = time.monotonic()
        # Without a reader it ends when it writes, at the latest at its end.
        patience = LONGEST if self.kind == "reader" else PATIENCE
        self.read(patience, lambda: self.sonde.poll() is not None)
        if self.sonde.poll() is None:
            self.problems.append(f"sonde has not ended {time.monotonic() - begun:.1f} s later")
            self.sonde.kill()
        status = self.sonde.wait()
        if self.reader is not None:
            self.read(0.1)
        errors = (self.directory / "errors").read_text(errors="replace")
        if PYTHON_ITSELF.search(errors):
            return "before sonde"
        allowed = STATUSES[self.kind] | {0} | ({0, -15} if self.kind in ("guardian", "target") else set())
        has_come_late = (self.is_attached or self.kind == "target") and re.search(
            "failed to (grab|trace|run)|has ended|no such process|failed to set the controlling terminal", errors
        )
        if status not in allowed and not has_come_late:
            self.problems.append(f"status {status}: {errors!r}")
        if "Traceback" in errors:
            self.problems.append(errors)
        if status == 0 and self.kind != "reader" and b"the end\n" not in self.printed.replace(b"\r", b""):
            self.problems.append(f"the end is not told: {self.printed[-200:]!r} {errors!r}")
        self.check_target(status)
        self.check_left()
        return str(status)

    def check_target(self, status):
        expected = targets.forest_output(self.rounds)
        end = time.monotonic() + LONGEST
        if self.is_attached:
            killed = self.kind == "target" and self.has_struck
            try:
                ended = self.target.wait(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                self.target.kill()
                ended = "hang"
            text = self.output.read_text()
            if (ended, text) != (7, expected) and not (killed and ended == -9):
                self.problems.append(f"the process: {ended} {text!r}")
            return
        if not self.output.exists():
            return
        if self.kind in ("guardian", "target"):
            # The one takes the command along, the other is the command.
            return
        allowed = {expected + "status 7\n"}
        if status >= 0 or self.kind == "two SIGINT":
            # sonde ends the command's first process with itself; what that has started goes on.
            allowed |= {"", expected}
        while time.monotonic() < end and self.output.read_text() not in allowed - {""}:
            if not marked(self.mark):
                break
            time.sleep(0.02)
        if (text := self.output.read_text()) not in allowed:
            self.problems.append(f"the command: {text!r}")

    def check_left(self):
        """No process of sonde's, and none of the kernel's maps."""
        end = time.monotonic() + LONGEST
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.05)
        if left:
            self.problems.append(f"left: {left}")

    def left(self):
        found = [f"{pid} {name_of(pid)}" for pid in marked(self.mark)]
        return found + [name for name in map_names() if self.mark in name]


def children_of(pid):
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def marked(mark):
    """The processes that have the mark in their environment."""
    found = []
    for each in os.listdir("/proc"):
        if each.isdigit():
            with contextlib.suppress(OSError):
                if f"SONDE_KILL_RUN={mark}".encode() in Path(f"/proc/{each}/environ").read_bytes():
                    found.append(int(each))
    return found


def main(runs, seed):
    program = targets.program(targets.FOREST)
    pick = random.Random(seed)
    engines = ["kernel", "embedded"] if os.geteuid() == 0 else ["embedded"]
    outcomes = collections.Counter()
    harmed = 0
    for number in range(runs):
        with tempfile.TemporaryDirectory() as directory:
            run = Run(random.Random(pick.random()), directory, program, engines)
            run.start()
            try:
                run.strike()
                outcome = run.check()
            finally:
                if run.reader is not None:
                    os.close(run.reader)
        outcomes[run.kind, run.engine, outcome] += 1
        if run.problems:
            harmed += 1
            print(
                f"run {number}: {run.kind}, {run.engine}, {'-p' if run.is_attached else '-c'}: ",
                *run.problems,
                flush=True,
            )
    for (kind, engine, outcome), count in sorted(outcomes.items()):
        print(f"{kind:12} {engine:9} status {outcome:14} {count:4}")
    print(f"{runs} runs, {harmed} with a problem")
    return bool(harmed)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*given, *(500, 1)[len(given) :]))
