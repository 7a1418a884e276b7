"""The same D program, over the same command, gives the same output on both engines."""

import os
import re
import subprocess

import pytest
from support.command.command import start
from support.command.same_run import outcome, programs, scripts

SCRIPTS = list(scripts())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return programs(tmp_path_factory.mktemp("programs"))


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.path.stem for script in SCRIPTS])
def test_engines_agree(script, compiled, tmp_path):
    kernel, embedded = (outcome(script, engine, compiled, tmp_path) for engine in ("kernel", "embedded"))
    assert re.search(script.shows, embedded.output), embedded
    assert embedded == kernel
    assert kernel.status == int(script.status)


def test_there_are_enough_of_them():
    assert len(SCRIPTS) >= 75


GRABBED = """
BEGIN { printf("ready\\n"); }
syscall:::entry /(pid == $target || progenyof($target)) && probefunc != "futex"/
{ @[probefunc, pid == $target, pid == tid, execname] = count(); }
syscall::getpgid:entry /pid == $target/ { @sum = sum(arg0); self->n++; @most = max(self->n); }
proc:::exit /pid == $target || progenyof($target)/ { @end[pid == $target, args[0]] = count(); }
proc:::create /pid == $target/ { @made = count(); }
"""


def grabbed(engine, program):
    """What sonde says of a process of two threads that was there before it."""
    reader, writer = os.pipe()
    with subprocess.Popen([program, str(reader)], stdin=subprocess.PIPE, pass_fds=[reader]) as process:
        with start("--engine", engine, "-qn", GRABBED, "-p", str(process.pid), text=True) as sonde:
            assert sonde.stdout.readline() == "ready\n"
            os.write(writer, b"x")
            process.stdin.write(b"x")
            process.stdin.flush()
            output, errors = sonde.communicate()
        assert process.wait(10) == 0
    os.close(reader)
    os.close(writer)
    return output, errors, sonde.returncode


@pytest.mark.long
def test_a_process_that_was_there_before(compiled):
    output, errors, status = grabbed("kernel", compiled["waits"])
    assert (errors, status) == ("", 0)
    assert re.search(r"getpgid +1 +0 waits +11\n", re.sub(" +waits", " waits", output)), output
    assert grabbed("embedded", compiled["waits"]) == (output, errors, status)
