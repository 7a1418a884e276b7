"""Threads that are asked to stop, however many they are, and however often: those that stop have their turns."""

import itertools
import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command.targets import program
from test_below_filters import PERF_EVENT_OPEN, below

from sonde.engines.embedded.tracer import commands, events, following, stops
from sonde.engines.embedded.tracer.running_threads import LONGEST, SHARE, AskingTurns

MANY = """
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static void *waits(void *unused) { pause(); return 0; }
int main(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_t thread;
    for (int n = 0; n < 500; n++) pthread_create(&thread, &attributes, waits, 0);
    struct timespec used;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); while (used.tv_sec == 0 && used.tv_nsec < 300000000);
    return 7;
}
"""


@given(st.lists(st.integers(0, 5 * LONGEST), min_size=1, max_size=40), st.lists(st.integers(1, LONGEST), min_size=30))
def test_looks_take_a_share_of_the_time_and_come_to_all(costs, pauses):
    """`costs`: how long the look at each thread takes; `pauses`: ns until somebody asks once more."""
    now = looked = 0
    seen = []
    turns = AskingTurns(lambda: now)
    for pause in itertools.islice(itertools.cycle(pauses), 3000):
        begin = now
        for tid in turns.take(range(len(costs))):
            seen.append(tid)
            now += costs[tid]
        assert now - begin <= LONGEST + max(costs)
        looked += now - begin
        assert looked <= now / SHARE + LONGEST + max(costs)
        now += pause
    counts = [seen.count(tid) for tid in range(len(costs))]
    assert max(counts) - min(counts) <= 1
    assert now < SHARE * (sum(costs) + LONGEST) or min(counts) > 0


@pytest.mark.parametrize("pending", [1, 5])
def test_a_stop_is_seen_among_commands_without_an_end(pending, monkeypatch):
    """Whoever sends while the guardian listens always has a command for it."""
    read = []

    class Reader:
        def __init__(self, pipe):
            self.received = 0

        def read(self):
            read.append(1)
            assert len(read) < 100, "the stop is never seen"
            self.received += 1
            words[stops.SENT] = self.received + pending
            return [(commands.ROOM, 0, 0, b"")]

    def handle(threads, tid, status):
        seen.append((tid, status))
        if len(seen) == 3:
            raise commands.SondeEnded

    words, seen = [0] * 64, []
    words[stops.SENT] = pending
    monkeypatch.setattr(following.commands, "CommandReader", Reader)
    monkeypatch.setattr(events, "handle", handle)
    monkeypatch.setattr(os, "waitpid", lambda *words: (77, 5))
    listening, sending = os.pipe()
    follower = following.Follower(listening, 0)
    os.close(listening)
    os.close(sending)
    follower.threads = SimpleNamespace(
        writer=SimpleNamespace(words=words), held={}, requests={77: 0}, early={}, stopped=0,
        spaces=SimpleNamespace(losses=SimpleNamespace(found={})),
    )  # fmt: skip
    follower.quick = (None, None)
    follower.breakpoints = SimpleNamespace(hit=None)
    follower.follow()
    assert seen == [(77, 5)] * 3
    assert len(read) <= 4


@pytest.mark.long
def test_a_process_of_many_threads_goes_on_and_has_samples():
    text = "profile-4999 { @[ustack(1)] = count(); @n = count(); } END { trunc(@); printa(@n); }"
    done = below([PERF_EVENT_OPEN], "--engine", "embedded", "-q", "-xexit=command", "-n", text, "-c", program(MANY))
    assert done.returncode == 7, done.stderr
    assert int(done.stdout) > 0
