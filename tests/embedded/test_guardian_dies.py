"""The guardian may be killed at any moment: a message, a status, no traceback, and nothing of -p is harmed."""

import os
import random
import signal
import subprocess
import time

import pytest
from support.command.guarded import comes
from support.command.unprivileged import SONDE, without_privileges
from support.machine.processes import children

from sonde.machine import proc

TEXT = """
BEGIN { printf("began"); }
syscall:::entry { @[execname, probefunc] = count(); }
syscall::openat:return { @s[ustack()] = count(); }
proc:::exec-success { @a[curpsinfo->pr_psargs] = count(); }
"""


def guardian_of(tracer):
    """Its guardian, None if the command is not there any more or has none."""
    for child in children(tracer.pid):
        if proc.stat(child).comm == b"sonde-guardian":
            return child
    return None


@pytest.mark.share(0, 6)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("how", ["-c", "-p"])
def test_no_traceback(how, seed):
    moment = random.Random(seed).uniform(0, 0.6)
    shell = ["sh", "-c", "while :; do /bin/true; done"]
    target = subprocess.Popen([*without_privileges(), *shell]) if how == "-p" else None
    words = ["-p", str(target.pid)] if target else ["-c", "timeout 20 sh -c 'while :; do /bin/true; done'"]
    tracer = subprocess.Popen(
        [*without_privileges(), SONDE, "--engine", "embedded", "-qn", TEXT, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        guardian = comes(lambda: tracer.poll() is not None or guardian_of(tracer))
        time.sleep(moment)
        os.kill(guardian, signal.SIGKILL)
        _, errors = tracer.communicate()
        assert "Traceback" not in errors
        assert "the guardian, which traces the processes, was killed" in " ".join(errors.split())
        assert tracer.returncode == 1
        assert target is None or target.poll() is None
    finally:
        tracer.kill()
        tracer.communicate()
        if target is not None:
            target.kill()
            target.wait()
