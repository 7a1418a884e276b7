"""Commands that somebody else kills while they wait for tracing to begin: they have ended, and nothing fails."""

import os
import select
import signal

import pytest

from sonde.session.command import CommandError, StartedProcess

TIMES = ["fork", "exec", "preinit", "postinit"]


def awaited(process):
    """The status, once the command has ended."""
    waiting = select.poll()
    waiting.register(process.descriptor, select.POLLIN)
    assert waiting.poll(60_000)
    return process.collect()


@pytest.mark.parametrize("evaluation", TIMES)
def test_one_that_is_killed_before_it_is_let_go(evaluation):
    process = StartedProcess("sleep 60", evaluation)
    try:
        process.prepare()
        os.kill(process.pid, signal.SIGKILL)
        process.resume()
        assert awaited(process) == signal.SIGKILL
    finally:
        process.close()


@pytest.mark.parametrize("evaluation", TIMES[:2])
def test_one_that_is_killed_before_it_executes(evaluation):
    process = StartedProcess("sleep 60", evaluation)
    try:
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(CommandError, match="failed to run sleep: it ended at once"):
            process.prepare()
    finally:
        process.close()
