"""inject() and delay(): other results for system calls, and threads that go on later."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command.unprivileged import SONDE, sonde
from support.machine import compilers, packages
from support.machine.access import needs

SOURCE = Path(__file__).parents[1] / "programs" / "injected.c"
CALLS = re.findall(r"X\((\w+), ", SOURCE.read_text())
EMBEDDED = ("--engine", "embedded", "-qw")


@pytest.fixture(scope="module")
def program():
    return compilers.built(SOURCE.name, SOURCE.read_text(), "gcc", "-w", "-static")


def probes(which):
    names = (f"syscall::{name}:{which}" for name in CALLS)
    return ", ".join(names)


def results(text):
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in text.splitlines() if line.count(" ") == 2}


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("strace", "action"),
    [("error=EIO", "inject(EIO)"), ("error=EINTR", "inject(EINTR)"), ("error=ENOSYS", "inject(38)"),
     ("retval=0", "inject(0, 0)"), ("retval=42", "inject(0, 42)"), ("retval=1099511627776", "inject(0, 1 << 40)")],
)  # fmt: skip
def test_each_call_has_the_result_that_strace_injects(program, strace, action):
    packages.require("strace")
    words = ["strace", "-o", "/dev/null", "-e", f"inject={','.join(CALLS)}:{strace}", program]
    theirs = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    assert len(results(theirs)) == len(CALLS) > 40
    ours = sonde(*EMBEDDED, "-n", f"{probes('entry')} {{ {action}; }}", "-c", program)
    assert results(ours.stdout) == results(theirs), ours.stderr


def test_a_return_has_the_value_that_its_probe_injects(program):
    """The call was made; a second probe sees what it gave, and the last one that injects wins."""
    script = f"{probes('return')} {{ inject(EIO); @[arg1 == -1 || errno != EIO] = count(); inject(EPIPE); }}"
    ours = sonde(*EMBEDDED, "-n", script, "-c", program)
    assert set(results(ours.stdout).values()) == {(-1, 32)}, ours.stderr
    # A value below -4095 is none of an error, and stays as it is.
    ours = sonde(*EMBEDDED, "-n", f"{probes('return')} {{ inject(0, 7); }}", "-c", program)
    assert set(results(ours.stdout).values()) == {(7, 0)}, ours.stderr


def test_a_return_after_an_injected_entry_tells_of_the_injected_result():
    script = (
        'syscall::getppid:entry { inject(EACCES); } syscall::getppid:return { printf("<%d %d>", (int)arg1, errno); }'
        "syscall::getppid:return { inject(0, 11); }"
    )
    command = f"'{sys.executable}' -c 'import os; print(f\"parent {{os.getppid()}}\")'"
    ours = sonde(*EMBEDDED, "-n", script, "-c", command)
    assert "<-13 13>" in ours.stdout or "<-1 13>" in ours.stdout, ours.stdout
    assert "parent 11\n" in ours.stdout


def test_what_is_injected_is_not_made(tmp_path):
    target = tmp_path / "made"
    script = "syscall::mkdir:entry { inject(EROFS); }"
    code = f"import os\ntry: os.mkdir({str(target)!r})\nexcept OSError as error: print(error.errno)"
    ours = sonde(*EMBEDDED, "-n", script, "-c", f"'{sys.executable}' -c \"{code}\"")
    assert ours.stdout.split() == ["30"]
    assert not target.exists()


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "embedded", "-c", "true", "-n", "syscall:::entry { inject(5); }"), "Destructive actions"),
        (("--engine", "embedded", "-c", "true", "-n", "syscall:::entry { delay(5); }"), "Destructive actions"),
        pytest.param(
            ("--engine", "kernel", "-w", "-n", "syscall:::entry { inject(5); }"),
            "run it with --engine embedded",
            marks=needs("CAP_BPF", "CAP_PERFMON"),
        ),
        pytest.param(
            ("--engine", "kernel", "-w", "-n", "syscall:::entry { delay(5); }"),
            "run it with --engine embedded",
            marks=needs("CAP_BPF", "CAP_PERFMON"),
        ),
        ((*EMBEDDED, "-c", "true", "-n", "proc:::exec { inject(5); }"), "entries and returns of the provider syscall"),
        ((*EMBEDDED, "-c", "true", "-n", "syscall:::entry { inject(0); }"), "from 1 to 4095"),
        ((*EMBEDDED, "-c", "true", "-n", "syscall:::entry { inject(5, 6); }"), "must be 0 where a value is given"),
    ],
)
def test_misuse_is_one_message(words, message):
    done = subprocess.run([SONDE, *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_who_is_not_held_is_not_acted_on():
    """A fault, which ends the clause."""
    done = sonde(*EMBEDDED, "-c", "sleep 0.3", "-n", 'tick-100ms { delay(5); @["on"] = count(); }')
    assert "illegal operation" in done.stderr
    assert "on" not in done.stdout


THREADS = """
import os, threading, time
started = time.monotonic()
def work():
    # Python lets other threads run meanwhile.
    os.access("/nowhere", 0)
    waited.append(time.monotonic() - started)
waited, threads = [], [threading.Thread(target=work) for _ in range(3)]
for each in threads: each.start()
quick = []
for _ in range(50):
    begun = time.monotonic(); os.getsid(0); quick.append(time.monotonic() - begun)
done = time.monotonic() - started
for each in threads: each.join()
print(min(waited) >= 0.6, max(waited) < 1.7, done < 0.5)
"""


def test_a_delay_stops_nobody_else(tmp_path):
    """Three threads wait at once, not one behind the other, while a fourth makes its calls."""
    program = tmp_path / "threads.py"
    program.write_text(THREADS)
    script = "syscall::access:entry { delay(300000000); delay(300000000); } syscall::getsid:entry { @ = count(); }"
    done = sonde(*EMBEDDED, "-n", script, "-c", f"'{sys.executable}' {program}")
    assert done.stdout.split()[:3] == ["True", "True", "True"], done.stdout
    assert done.stdout.split()[3] == "50"


def test_a_call_that_is_delayed_and_injected():
    script = "syscall::getppid:entry { delay(200000000); inject(0, 5); }"
    code = "import os, time; begun = time.monotonic(); print(os.getppid(), time.monotonic() - begun >= 0.2)"
    done = sonde(*EMBEDDED, "-n", script, "-c", f"'{sys.executable}' -c '{code}'")
    assert done.stdout.split() == ["5", "True"]


ASKED = """
import os, sys
print(1, flush=True)
for line in sys.stdin: print(os.getppid(), flush=True)
"""


class Asked:
    """A process that answers each line with what getppid() gives, and a sonde that follows it."""

    def __init__(self, script):
        self.target = subprocess.Popen([sys.executable, "-c", ASKED], stdin=-1, stdout=-1, bufsize=0)
        assert self.answer() == "1"
        words = [SONDE, *EMBEDDED, "-p", str(self.target.pid), "-n", script]
        self.tracer = subprocess.Popen(words, stdout=-1)

    def answer(self, seconds=30):
        """ "" if none comes in that time."""
        ready, _, _ = select.select([self.target.stdout], [], [], seconds)
        return self.target.stdout.readline().decode().strip() if ready else ""

    def ask(self, seconds=30):
        self.target.stdin.write(b"\n")
        return self.answer(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (self.tracer, self.target):
            each.kill()
            each.communicate()


def until(found):
    """Ask until the answer is such a one: BEGIN is shown before the process is followed."""
    while not found():
        time.sleep(0.05)


def test_a_process_that_was_there_is_acted_on():
    """With -p no filter stops the calls; afterwards they are the process's own again."""
    script = "syscall::getppid:entry { inject(0, 77); } syscall::getppid:return /++n == 3/ { exit(0); }"
    with Asked(script) as asked:
        until(lambda: asked.ask() == "77")
        assert [asked.ask(), asked.ask()] == ["77", "77"]
        asked.tracer.wait()
        assert asked.ask() == str(os.getpid())


@pytest.mark.share(1)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_who_waits_goes_on_when_sonde_ends(how):
    with Asked("syscall::getppid:entry { delay(3600000000000); }") as asked:
        until(lambda: not asked.ask(1))
        asked.tracer.send_signal(how)
        assert asked.answer() == str(os.getpid())
