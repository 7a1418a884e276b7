"""The ways in which tools/real_programs.py has real programs traced: each starts a program's script, below sonde or
beside it, and gives what sonde had to say."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE = 60
"""Seconds in which sonde has to begin or to end."""

START = "import sys; sys.argv[0] = 'sonde'; from sonde.cli.start import main; sys.exit(main())"
PROFILE = [sys.executable, str(HERE / "container_profile.py")]

COUNT = "syscall:::entry { @[probefunc] = count(); }"
RETURNS = """syscall:::entry { self->since = timestamp; }
    syscall:::return /self->since/ { @[probefunc] = sum(timestamp - self->since); @failed[errno] = count(); }"""
READ = """syscall::openat:entry { self->name = arg1; } syscall::write:entry { @[copyin(arg1, 4)] = count(); }
    syscall::openat:return /self->name/ { @[copyinstr(self->name)] = count(); }
    syscall::read:return { @s[ustack(3)] = count(); } proc::: { @p[probename, execname] = count(); }"""
SAMPLES = "profile-997 { @[ustack()] = count(); }"


class Traced:
    """A script that runs, `usual` seconds if alone, and the tracer that looks at it."""

    def __init__(self, script, environment, directory, usual):
        self.script, self.environment, self.directory = script, environment, Path(directory)
        self.usual, self.said, self.problems = usual, "", []
        self.output = (self.directory.parent / "output").open("wb")
        self.trace = self.directory.parent / "trace"

    def words(self, program, *options):
        return [
            sys.executable,
            "-c",
            START,
            "-q",
            "--engine",
            "embedded",
            "-o",
            str(self.trace),
            *options,
            "-n",
            program,
        ]

    def run(self, words, **more):
        """A process in a session of its own, with the script's directory and output."""
        return subprocess.Popen(
            words, stdin=more.pop("stdin", subprocess.DEVNULL), stdout=self.output,
            stderr=more.pop("stderr", self.output), cwd=self.directory, env=self.environment, start_new_session=True,
            **more,
        )  # fmt: skip

    def sonde(self, words):
        """It says what it has to say apart from the program, which shares its output otherwise."""
        self.errors = (self.directory.parent / "errors").open("w+b")
        return self.run(words, stderr=self.errors)

    def end(self, process, patience=PATIENCE):
        """Its status; None, and a problem, where it does not end."""
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            self.problems.append(f"{'sonde' if process is not self.target else 'it'} did not end")
            process.kill()
            return None

    def told(self):
        """What sonde has written to its standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")


def alone(traced, limit):
    traced.target = traced.run(traced.script)
    return traced.end(traced.target, limit)


def alone_in_profile(traced, limit):
    traced.target = traced.run([*PROFILE, *traced.script])
    return traced.end(traced.target, limit)


def by_command(program, *options, outside=(), inside=()):
    """`-c`. What the script says on its standard error must not be lost among sonde's words: it is joined to its
    output."""

    def run(traced, limit):
        command = shlex.join([*inside, "sh", "-c", 'exec "$@" 2>&1', "sh", *traced.script])
        words = traced.words(program, "-xexit=command", *options)
        traced.target = traced.sonde([*outside, *words, "-c", command])
        status = traced.end(traced.target, limit)
        traced.said = traced.told()
        return status

    return run


def wait_for(traced, condition, process):
    limit = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > limit or process.poll() is not None:
            return False
        time.sleep(0.01)
    return True


def attach(traced, program, pids, *options):
    """sonde, once it traces the processes."""
    traced.trace.unlink(missing_ok=True)
    marked = 'BEGIN { printf("begun\\n"); } ' + program
    chosen = [word for pid in pids for word in ("-p", str(pid))]
    process = traced.sonde([*traced.words(marked, *options), "-x", "switchrate=50hz", *chosen])
    if not wait_for(
        traced, lambda: traced.trace.exists() and "begun" in traced.trace.read_text(errors="replace"), process
    ):
        traced.problems.append("sonde did not begin")
        traced.said = traced.told()
    return process


def by_shell(program, *options, ended_by=None, outside=()):
    """`-p` of a shell that waits, and becomes the script then; sonde may be ended while it works."""

    def run(traced, limit):
        shell = ["bash", "-c", 'read -r line; exec "$@" < /dev/null', "bash", *traced.script]
        traced.target = traced.run([*outside, *shell], stdin=subprocess.PIPE)
        wait_for(traced, lambda: Path(f"/proc/{traced.target.pid}/comm").read_text() == "bash\n", traced.target)
        tracer = attach(traced, program, [traced.target.pid], *options)
        traced.target.stdin.write(b"\n")
        traced.target.stdin.close()
        if ended_by is not None:
            time.sleep(random.Random(traced.script[-1]).uniform(0.1, 0.9) * traced.usual)
            strike(tracer, ended_by)
        status = traced.end(traced.target, limit)
        finish(traced, tracer, ended_by)
        return status

    return run


def by_server(program, *options, ended_by=signal.SIGINT):
    """`-p` of the server's processes that the script has started; then its requests, and sonde is ended among them."""

    def run(traced, limit):
        meeting = traced.directory.parent / "attach"
        meeting.mkdir()
        meeting.chmod(0o777)
        traced.environment = {**traced.environment, "ATTACH": str(meeting)}
        traced.target = traced.run(traced.script)
        if not wait_for(traced, (meeting / "pids").exists, traced.target):
            traced.problems.append("the server was not ready")
            return traced.end(traced.target, limit)
        tracer = attach(traced, program, (meeting / "pids").read_text().split(), *options)
        (meeting / "go").touch()
        time.sleep(random.Random(traced.script[-1]).uniform(0.2, 0.8) * traced.usual)
        strike(tracer, ended_by)
        status = traced.end(traced.target, limit)
        finish(traced, tracer, ended_by)
        return status

    return run


def strike(tracer, number):
    if tracer.poll() is None:
        os.kill(tracer.pid, number)


def finish(traced, tracer, ended_by):
    status = traced.end(tracer)
    traced.said = traced.told()
    if status not in {0, -(ended_by or 0)}:
        traced.problems.append(f"sonde's status {status}")


WAYS = {
    "count": by_command(COUNT),
    "returns": by_command(RETURNS),
    "read": by_command(READ),
    "unfiltered": by_command(RETURNS, "-xseccomp=no"),
    "profile": by_command(SAMPLES),
    "container": by_command(COUNT, outside=PROFILE),
    "contained": by_command(RETURNS, inside=PROFILE),
    "shell": by_shell(RETURNS),
    "shell-profile": by_shell(SAMPLES),
    "shell-read": by_shell(READ),
    "interrupted": by_shell(COUNT, ended_by=signal.SIGINT),
    "terminated": by_shell(RETURNS, ended_by=signal.SIGTERM),
    "killed": by_shell(READ, ended_by=signal.SIGKILL),
    "server": by_server(RETURNS),
    "server-killed": by_server(READ, ended_by=signal.SIGKILL),
    "server-profile": by_server(SAMPLES, ended_by=signal.SIGTERM),
}
IN_PROFILE = {"container", "contained"}
"""Below a container's filter, where the program alone is below it too."""

OF_SERVERS = {"server", "server-killed", "server-profile"}
