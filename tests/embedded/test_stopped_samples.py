"""Samples of threads that are stopped for them: whole stacks, Python's functions, and programs that notice nothing."""

import errno
import os
import random
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command.targets import program
from support.command.unprivileged import SONDE, sonde, without_privileges
from support.machine.interpreters import DISTRIBUTIONS, VERSIONS, interpreter
from support.places import PROGRAMS
from test_below_filters import PERF_EVENT_OPEN, below

from sonde.arch import registers, system_calls
from sonde.engines.embedded.sources.sampling import UnsampledTime
from sonde.engines.embedded.sources.stopped_samples import Periods
from sonde.engines.embedded.tracer import call_stops, interruptions, unfinished
from sonde.engines.embedded.tracer.plan import ENTRY, RETURN
from sonde.engines.embedded.tracer.running_threads import RunningThreads

ENGINE = ["--engine", "embedded", "-q"]

HOW = ("by their own clocks", "when they are asked")
"""Where perf_event_open(2) is refused, the latter."""


def run(how, *words):
    done = sonde(*words) if how == HOW[0] else below([PERF_EVENT_OPEN], *words)
    assert done.returncode == 0, done.stderr
    return done


def stacks(text):
    """The frames of each stack that is counted, and how often."""
    blocks = [[line.strip() for line in block.split("\n") if line.strip()] for block in text.split("\n\n")]
    return [(block[:-1], int(block[-1])) for block in blocks if len(block) > 1]


def profiled(how, command, rate, tmp_path, *options):
    out = tmp_path / "out"
    text = f"profile-{rate} {{ @[ustack(100)] = count(); }}"
    done = run(how, *ENGINE, *options, "-n", text, "-o", str(out), "-c", shlex.join(command))
    return stacks(out.read_text()), done


@pytest.mark.share(1)
@pytest.mark.parametrize("how", HOW)
def test_functions_of_python_are_in_each_sample(how, tmp_path):
    out, turns = tmp_path / "out", "def inner():\n  while True: pass\ndef outer(): inner()\nouter()"
    text = "profile-499 { @[ustack(60)] = count(); } profile-499 /++n > 60/ { exit(0); }"
    run(how, *ENGINE, "-n", text, "-o", str(out), "-c", shlex.join([sys.executable, "-c", turns]))
    found = stacks(out.read_text())
    assert not [stack for stack, _ in found if any("are missing:" in frame for frame in stack)]
    spinning = [stack for stack, _ in found if any("inner" in frame for frame in stack)]
    assert spinning
    for stack in spinning:
        names = [frame.split()[0] for frame in stack if frame.startswith("__main__.")]
        assert names == ["__main__.inner", "__main__.outer", "__main__.<module>"]


def test_an_option_has_nothing_stopped():
    words = [*ENGINE, "-n", "profile-97 { @[ustack(3)] = count(); }", "-c", "true"]
    done = below([PERF_EVENT_OPEN], *words, "-xsampling=running")
    assert done.returncode == 1
    assert "a thread's registers and stack where it runs" in " ".join(done.stderr.split())
    assert below([PERF_EVENT_OPEN], *words, "-xsampling=stopped").returncode == 0


CALLS = (PROGRAMS / "interrupted.c").read_text()
SIGNALLED = (PROGRAMS / "signalled.c").read_text()

FEW = "epolls writes semtimes waitalls shareds zerovs"


@pytest.mark.share(1, 3)
@pytest.mark.parametrize(("command", "how"), [(("0.05", FEW), HOW[0]), *((("0.04",), how) for how in HOW)])
def test_no_call_fails_or_is_cut_short(command, how, tmp_path):
    _, done = profiled(how, [program(CALLS, "-D_GNU_SOURCE"), *command], 997, tmp_path)
    assert done.stdout.endswith("\n0 kinds wrong\n"), done.stdout


@contextmanager
def held(words):
    """A process that executes the command when its input has a line."""
    shell = [*without_privileges(), "sh", "-c", 'read line; exec "$@"', "sh", *words]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        yield child


def begin(child, text):
    """Trace a process that is held, which then goes on."""
    words = [*without_privileges(), SONDE, *ENGINE, "-n", f'BEGIN {{ printf("on\\n"); }} {text}', "-p", str(child.pid)]
    tracer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert tracer.stdout.readline() == "on\n"
    child.stdin.write("\n")
    child.stdin.close()
    return tracer


@pytest.mark.long
def test_nor_where_calls_stop_anyway():
    """A process that was there stops at each call if any is probed."""
    text = "profile-997 { @[ustack(3)] = count(); } syscall::write:return,syscall::epoll_wait:entry { @c = count(); }"
    with held([program(CALLS, "-D_GNU_SOURCE"), "0.1", "epolls writes semtimes waitalls getevents randoms"]) as child:
        with begin(child, text) as tracer:
            tracer.stdout.read()
        assert tracer.returncode == 0
        said = child.stdout.read()
    assert said.endswith("\n0 kinds wrong\n"), said


@pytest.mark.long
def test_nor_where_sonde_is_killed():
    text = 'profile-997 { @[ustack(3)] = count(); } tick-200ms { printf("ticked\\n"); }'
    with held([program(CALLS, "-D_GNU_SOURCE"), "0.2", "writes sends sendmsgs shareds waitalls semtimes"]) as child:
        with begin(child, text) as tracer:
            assert tracer.stdout.readline() == "ticked\n"
            tracer.kill()
        said = child.stdout.read()
    assert said.endswith("\n0 kinds wrong\n"), said


@pytest.mark.long
@pytest.mark.parametrize("how", HOW)
def test_signals_interrupt_what_they_would_interrupt(how, tmp_path):
    words = [program(SIGNALLED), "1"]
    alone = subprocess.run(words, capture_output=True, text=True).stdout
    _, done = profiled(how, words, 997, tmp_path)
    assert alone.count("\n") == 27
    assert done.stdout == alone


SHARES = """
import time
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for turn in range(2000): turn * turn
def half(): work(0.005)
def third(): work(0.003)
def fifth(): work(0.002)
end = time.thread_time() + 1
while time.thread_time() < end: half(); third(); fifth()
"""


@pytest.mark.long
def test_shares_are_those_of_the_time(tmp_path):
    """Threads that are asked are met less often on a busy machine, and one meeting counts for more: not so here."""
    found, _ = profiled(HOW[0], [sys.executable, "-c", SHARES], 997, tmp_path)
    counts = dict.fromkeys(("half", "third", "fifth"), 0)
    for stack, count in found:
        for name in counts:
            if any(frame.startswith(f"__main__.{name} ") for frame in stack):
                counts[name] += count
    whole = sum(counts.values())
    assert whole > 500
    for name, share in (("half", 0.5), ("third", 0.3), ("fifth", 0.2)):
        assert abs(counts[name] / whole - share) < 0.04, counts


WALKED = """
import asyncio, functools, hashlib, threading, time
def leaf():
    for turn in range(40): turn + turn
def recursing(depth): return recursing(depth - 1) if depth else leaf()
class Thing:
    def __call__(self, other): leaf(); return other
def generating():
    leaf(); yield 1
    yield from within()
def within(): yield leaf()
def reducing(a, b): return leaf()
def hashing(): hashlib.sha256(b"x" * 300000).digest()
async def sleeping():
    leaf(); await asyncio.sleep(0); leaf()
async def awaiting():
    await sleeping()
async def gathering():
    await asyncio.gather(awaiting(), awaiting())
def works():
    recursing(10); sorted([2, 1], key=Thing()); list(generating()); functools.reduce(reducing, [1, 2, 3]); hashing()
def threaded():
    while time.thread_time() < 0.15: works()
def looping():
    loop = asyncio.new_event_loop()
    while time.thread_time() < 0.15: loop.run_until_complete(gathering())
threads = [threading.Thread(target=each) for each in (threaded, looping)]
for each in threads: each.start()
for each in threads: each.join()
"""

CALLERS = {
    "leaf": {"recursing", "__call__", "generating", "within", "reducing", "sleeping"},
    "recursing": {"recursing", "works"}, "__call__": {"works"}, "generating": {"works"}, "within": {"generating"},
    "reducing": {"works"}, "hashing": {"works"}, "works": {"threaded"}, "threaded": {"run"}, "looping": {"run"},
    "sleeping": {"awaiting"}, "awaiting": {"_run", "gathering"}, "gathering": {"_run", "looping"}, "<module>": {""},
    "<listcomp>": {"<module>"},
}  # fmt: skip
"""Of each function those that may have called it, coroutines also to be made; `_run` is asyncio's,
`run` that of threads."""

PYTHON = re.compile(r"^(\S+) \S+:\d+$")


@pytest.mark.share(0, 2)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("version", [DISTRIBUTIONS, *VERSIONS])
def test_callers_are_right_wherever_a_thread_is_met(version, how, tmp_path):
    """In threads, generators and coroutines, and in a thread that has let the interpreter's lock go."""
    found, _ = profiled(how, [interpreter(version), "-c", WALKED], 997, tmp_path)
    met = set()
    missing = [stack for stack, _ in found if any("are missing:" in frame for frame in stack)]
    # A thread may be met where its interpreter has made a frame in part.
    assert len(missing) <= 0.02 * len(found), missing
    for stack in (each for each, _ in found if each not in missing):
        functions = [match[1] for frame in stack if (match := PYTHON.match(frame))]
        for name, caller in pairwise([*functions, ""]):
            if name.startswith("__main__."):
                met.add(own := name.rpartition(".")[2])
                assert caller.rpartition(".")[2] in CALLERS[own], stack
        if any(each.startswith("__main__.") for each in functions):
            assert functions[-1].rpartition(".")[2] in ("<module>", "_bootstrap"), stack
    # Who is asked is met at the ends of system calls, where no CPU is idle.
    assert met >= ({"hashing", "leaf", "looping"} if how == HOW[0] else {"hashing"})


@pytest.mark.parametrize("seed", range(3))
def test_each_period_is_fired_once_or_lost(seed):
    drawn = random.Random(seed)
    periods, period, used, fired, begins = Periods(drawn.randrange), 1000, drawn.randrange(10**6), 0, 0
    periods.start({7: used})
    begin = used
    for _ in range(200):
        used += drawn.choice((0, 10, 900, 3000, 70000))
        fired += periods.due(7, 0, period, used)
    periods.end(7, 0, period, used)
    begins = (used - begin) // period
    assert begins <= fired + periods.lost <= begins + 1
    assert periods.due(8, 0, period, 0) == 1


def test_periods_whose_signal_a_thread_blocks_are_lost():
    periods, period = Periods(), 1000
    periods.start({7: 500})
    periods.met(7, 0, period, 2 * period)
    periods.end_with_clock(7, 0, period, 22 * period, False)
    assert periods.lost == 19
    periods.end_with_clock(8, 0, period, 900, False)
    assert periods.lost == 19
    periods.end_with_clock(9, 0, period, 900, True)
    assert periods.lost == 20


def test_time_behind_last_samples_is_added_up():
    unsampled = UnsampledTime()
    unsampled.start({1: 5000})
    for tid in range(1, 11):
        unsampled.end(tid, 0, 1000, 500 + 5000 * (tid == 1), True)
    assert unsampled.lost == 5
    for _ in range(3):
        unsampled.sampled(20, 0)
    unsampled.end(20, 0, 1000, 100_000, True)
    assert unsampled.lost == 5
    unsampled.end(21, 0, 1000, 7001, True)
    assert unsampled.lost == 13
    unsampled.end(22, 0, 1000, 7001, False)
    assert unsampled.lost == 13


def test_a_thread_that_has_waited_is_known_by_its_turns():
    running = RunningThreads()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(b"x")
        child.stdin.flush()
        assert child.stdout.read(1) == b"x"
        while running.runs(child.pid):
            pass
        assert not running.runs(child.pid)
        assert running.used(child.pid) > 0
        child.stdin.close()
    assert running.runs(os.getpid())
    running.forget(child.pid)
    running.forget(os.getpid())
    assert (running.runs(child.pid), running.used(child.pid)) == (False, 0)


SENDMSG_HEADER, VECTOR, FLAGS, OFFSET = 1 << 20, 4096, 0x4000, 77


class Caller:
    """In the place of ptrace: a thread that leaves a call of `pieces`, and memory that cannot be written."""

    POKEUSER, PEEKUSER = unfinished.ptrace.POKEUSER, unfinished.ptrace.PEEKUSER

    def __init__(self, number, pieces, result):
        words = [word for piece in pieces for word in piece]
        self.memory = {VECTOR + 8 * place: word for place, word in enumerate(words)}
        self.memory |= {SENDMSG_HEADER + 16: VECTOR, SENDMSG_HEADER + 24: len(pieces)}
        given = {
            system_calls.SENDMSG: (5, SENDMSG_HEADER, FLAGS, 8, 9, 10),
            system_calls.PREADV: (5, VECTOR, len(pieces), OFFSET, 9, 10),
            system_calls.PREAD64: (5, *pieces[0], OFFSET, 9, 10),
            system_calls.SENDFILE: (5, 6, 7, pieces[0][1], 9, 10),
            system_calls.GETRANDOM: (*pieces[0], 7, 8, 9, 10),
        }.get(number, (5, *pieces[0], 8, 9, 10))
        if number in (system_calls.READV, system_calls.WRITEV):
            given = (5, VECTOR, len(pieces), 8, 9, 10)
        self.taken = {registers.CALL_NUMBER: number, registers.CALL_RESULT: result}
        self.taken |= dict(zip(registers.CALL_ARGUMENTS, given, strict=True))

    def called(self, tid):
        return self.taken[registers.CALL_NUMBER]

    def result(self, tid):
        return self.taken[registers.CALL_RESULT]

    def is_native(self, tid):
        return True

    def peek(self, tid, address):
        return self.memory[address]

    def peek_user(self, tid, place):
        return self.taken[place]

    def call(self, request, tid, address=0, data=0):
        assert request == self.POKEUSER
        self.taken[address] = data

    def asked(self):
        """The call that is made once more, and the bytes that it is to move."""
        number, result = self.taken[registers.CALL_NUMBER], self.taken[registers.CALL_RESULT]
        given = [self.taken[place] for place in registers.CALL_ARGUMENTS]
        assert result == -513
        data, size = system_calls.MOVING[number]
        return number, given, given[data] if data >= 0 else None, given[size]


PIECES = st.lists(st.tuples(st.integers(1, 1 << 40), st.sampled_from((0, 1, 5, 1000))), min_size=1, max_size=9)
CALLS_OF_MANY = st.sampled_from((*system_calls.MOVING, *system_calls.PIECEWISE))


@given(CALLS_OF_MANY, PIECES, st.data())
def test_a_call_that_goes_on_moves_the_rest_and_leaves_all_as_it_was(number, pieces, data):
    """No word of memory is written, and each call that is made moves what the one before has left."""
    is_vector = number in system_calls.PIECEWISE
    pieces = pieces if is_vector else [(pieces[0][0], 1000)]
    every = [start + place for start, size in pieces for place in range(size)]
    moved = data.draw(st.integers(0, len(every)))
    caller = Caller(number, pieces, moved)
    before = dict(caller.taken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unfinished, "ptrace", caller)
        patch.setattr(unfinished, "_waits_for_all", lambda tid, number, given: True)
        call = unfinished.rest(0)
        assert (call is None) == (moved in (0, len(every)))
        total, more = moved, 0
        while call is not None:
            unfinished.go_on(0, call)
            made, given, start, size = caller.asked()
            assert made == (system_calls.PIECEWISE[number] if is_vector else number)
            if start is not None:
                assert [start + place for place in range(size)] == every[total : total + size]
            if number in (system_calls.PREADV, system_calls.PREAD64):
                assert given[3] == OFFSET + total
            if number == system_calls.SENDMSG:
                assert given[3:] == [FLAGS, 0, 0]
            more = data.draw(st.sampled_from((size, size, size, size // 2, -4)))
            total += max(more, 0)
            caller.taken[registers.CALL_RESULT] = more
            left, last = unfinished.next_piece(0, call), call
            assert (left is not None) == (is_vector and more == size and total < len(every))
            call = left
            if call is None:
                unfinished.finish(0, last)
                assert caller.taken == before | {registers.CALL_RESULT: total}


@pytest.mark.parametrize(
    ("number", "done", "waiting", "delivered", "is_noted"),
    [
        (system_calls.WRITE, 7, {signal.SIGPIPE}, 0, True),
        (system_calls.WRITE, 7, set(), signal.SIGPIPE, True),
        (system_calls.SENDTO, 7, set(), 0, False),
        (system_calls.SENDTO, 7, set(), signal.SIGALRM, False),
        (system_calls.RECVFROM, 7, {signal.SIGPIPE}, 0, False),
        (system_calls.IO_URING_ENTER, 0, {signal.SIGPIPE}, 0, False),
    ],
)
def test_only_a_signal_for_the_rest_of_a_write_is_extra(number, done, waiting, delivered, is_noted, monkeypatch):
    """One that the program has of its own is delivered, also after a write whose rest raised none."""
    monkeypatch.setattr(unfinished, "ptrace", Caller(number, [(4096, 100)], -errno.EPIPE))
    monkeypatch.setattr(interruptions, "_waiting", lambda tid: sum(1 << each - 1 for each in waiting))
    threads = SimpleNamespace(broken=set())
    interruptions.finish(threads, 7, unfinished.Unfinished(done, (number, 5, 4096, 100, 0, 0, 0)), delivered)
    assert interruptions.is_extra(threads, 7, signal.SIGPIPE) == is_noted
    assert not interruptions.is_extra(threads, 7, signal.SIGPIPE)


VECTORS_WRITTEN = """
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>
static char bytes[1 << 20], taken[1 << 16];
static struct iovec const vector[3] = {{bytes, 1 << 20}, {bytes, 10}, {bytes, 1 << 20}};
static void *drain(void *from) { while (read((long)from, taken, sizeof taken) > 0); return 0; }
int main(void)
{
    int ends[2], wrong = pipe(ends);
    pthread_t thread;
    pthread_create(&thread, 0, drain, (void *)(long)ends[0]);
    for (int n = 0; n < 100; n++) wrong += writev(ends[1], vector, 3) != (2 << 20) + 10;
    close(ends[1]);
    pthread_join(thread, 0);
    return wrong;
}
"""
"""The vector is in memory that cannot be written."""


@pytest.mark.long
@pytest.mark.parametrize("told", ["entry", "return /arg0 == 2097162/"])
def test_pieces_are_no_calls_of_the_programs_own(told):
    """Each call is told once as a whole, and those by which the guardian has it go on are not. A user who may have the
    time in the kernel counted has threads stopped there, behind a filter too."""
    text = f"""profile-4999 {{ @[ustack(2)] = count(); }} syscall::writev:{told} {{ @made = count(); }}
    syscall::write:entry,syscall::write:return {{ @other = count(); }}
    END {{ trunc(@); printa("%@d ", @made); printa("%@d other", @other); }}"""
    words = [SONDE, *ENGINE, "-xexit=command", "-n", text, "-c", program(VECTORS_WRITTEN)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["100"]


@pytest.mark.parametrize("pieces", [(), ((4096, 5),)])
def test_a_filter_stops_a_piece_for_nothing(pieces, monkeypatch):
    told, gone_on = [], []
    call = unfinished.Unfinished(3, (system_calls.WRITEV, 5, VECTOR, 1, 0, 0, 0), pieces)
    threads = SimpleNamespace(
        unfinished={7: call}, repeating={}, stepping=set(), inside={}, tracing=True, proceed=gone_on.append,
        tell_entry=lambda tid, hold: told.append(tid),
        writer=SimpleNamespace(info_words=[0, 0, 0, system_calls.WRITE]),
    )  # fmt: skip
    monkeypatch.setattr(call_stops.own_filters, "data_of_stop", lambda threads, tid: ENTRY | RETURN)
    call_stops.filtered(threads, 7)
    assert (told, gone_on) == (([], [7]) if pieces else ([7], []))
    assert bool(threads.inside) == (not pieces)
