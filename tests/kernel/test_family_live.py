"""progenyof($target): everything that a process has started, however often the parents in between have ended."""

import subprocess
import sys

import pytest
from support.command.command import sonde, start, table

pytestmark = pytest.mark.every_kernel

COUNT = "syscall::getpgid:entry /progenyof($target)/ { @[tid == pid] = count(); }"

FUNCTIONS = """
import os, sys, threading, time

def calls(count):
    for _ in range(count): os.getpgid(0)

def in_a_thread(count):
    thread = threading.Thread(target=calls, args=(count,))
    thread.start()
    thread.join()

def descend(generations, work):
    "Do the work in a descendant all of whose ancestors, up to this process, have ended."
    ends, alive = os.pipe()
    os.set_inheritable(alive, True)
    ended, between = os.pipe()
    if os.fork() == 0:
        parent = os.getppid()
        for _ in range(generations):
            parent = os.getpid()
            if os.fork(): os._exit(0)
        os.close(between)
        os.read(ended, 1)
        # a process closes its files before its children are given to another
        while generations and os.getppid() == parent: time.sleep(0.001)
        work()
        os._exit(0)
    os.close(between)
    os.close(alive)
    if generations: os.wait()
    os.read(ends, 1)
"""

COMMAND = f"""{FUNCTIONS}
calls(3)
descend(0, lambda: calls(5))
descend(1, lambda: (calls(7), in_a_thread(13)))
again = [sys.executable, "-c", "import os; [os.getpgid(0) for _ in range(17)]"]
descend(4, lambda: (calls(11), os.execv(again[0], again)))
"""

PROCESS = f"""{FUNCTIONS}
def grandchild():
    "Two threads that tracing finds here, and that do nothing until the process between has ended."
    thread = threading.Thread(target=lambda: (os.read(end, 1), calls(13)))
    thread.start()
    os.read(begin, 1)
    os.read(end, 1)
    calls(11)
    thread.join()
    descend(1, lambda: calls(17))
    os._exit(0)

begin, go = os.pipe()
end, between = os.pipe()
ends, alive = os.pipe()
if os.fork() == 0:
    os.close(go)
    if os.fork() == 0:
        os.close(between)
        grandchild()
    os.read(begin, 1)
    os._exit(0)
os.close(between)
os.close(alive)
print("ready", flush=True)
sys.stdin.readline()
os.close(go)
os.wait()
os.read(ends, 1)
"""


@pytest.fixture(autouse=True)
def neighbour():
    """Makes the same call all the time."""
    program = "import os, time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: os.getpgid(0)"
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        yield
        process.kill()


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_of_a_command(engine, tmp_path):
    """Orphans, orphans of orphans, their threads, and what they execute."""
    (tmp_path / "command.py").write_text(COMMAND)
    output = sonde("--engine", engine, "-qn", COUNT, "-c", f"'{sys.executable}' {tmp_path / 'command.py'}").stdout
    assert table(output) == {("1",): 3 + 5 + 7 + 11 + 17, ("0",): 13}


def test_of_a_process():
    """Also those that were there before, and had done nothing by the time that they lost their parent."""
    target = subprocess.Popen([sys.executable, "-c", PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert target.stdout.readline() == b"ready\n"
    tracer = start("-qn", f'BEGIN {{ printf("tracing\\n"); }} {COUNT}', "-p", str(target.pid), text=True)
    assert tracer.stdout.readline() == "tracing\n"
    target.communicate(b"go\n")
    output, errors = tracer.communicate()
    assert tracer.returncode == 0, errors
    assert table(output) == {("1",): 11 + 17, ("0",): 13}


@pytest.mark.share(1)
@pytest.mark.parametrize("number", ["$target", "0"])
def test_all_descend_from_nobody(number):
    """Without -c and -p $target is 0: a script with the predicate is for the whole system."""
    program = f"syscall::getpgid:entry /pid != $pid && progenyof({number})/ {{ exit(7); }}"
    sonde("-qn", program, status=7)


@pytest.mark.long
def test_saved_programs_ask_for_the_process_of_their_run(tmp_path):
    (tmp_path / "command.py").write_text(COMMAND)
    saved = str(tmp_path / "saved")
    sonde("-qn", COUNT, "--save", saved)
    output = sonde("-q", "--spec", saved, "-c", f"'{sys.executable}' {tmp_path / 'command.py'}").stdout
    assert table(output) == {("1",): 3 + 5 + 7 + 11 + 17, ("0",): 13}


def test_of_other_numbers_there_are_the_parents_of_the_moment(tmp_path):
    """An orphan is another's child."""
    (tmp_path / "command.py").write_text(COMMAND)
    program = "syscall::getpgid:entry /progenyof($target + 0 * tid)/ { @[1] = count(); }"
    output = sonde("-qn", program, "-c", f"'{sys.executable}' {tmp_path / 'command.py'}").stdout
    assert table(output) == {("1",): 3 + 5}
