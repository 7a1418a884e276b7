"""Commands exec while sonde does other things (Tracees.ready), and their end is told without a nap."""

import os
import select
import signal
import subprocess

import pytest
from support.command.guarded import comes
from support.command.targets import program
from support.files.stop_records import StopRecord

from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.plan import ENTRY, StopPlan
from sonde.engines.embedded.tracer.tracees import Tracees

GETPID = StopPlan({39: ENTRY})

NUMBERED = """
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) { getpid(); usleep(100000); return atoi(words[1]); }
"""

WRITES = """
#include <fcntl.h>
int main(int count, char **words) { return open(words[1], O_CREAT | O_WRONLY, 0600) < 0; }
"""


@pytest.fixture
def tracees():
    made = Tracees()
    yield made
    made.close()


def taken(tracees, pids):
    """The records of these threads until all have ended."""
    found, left = [], set(pids)

    def ended():
        _, records = tracees.take()
        found.extend(StopRecord(*record) for record in records)
        left.difference_update(stop.tid for stop in found if stop.kind == stops.END)
        return not left

    assert comes(ended)
    return found


def test_several_commands_get_ready_at_once(tracees):
    made = program(NUMBERED)
    pids = [tracees.start(f"{made} {number}") for number in range(3)]
    tracees.ready(GETPID)
    tracees.begin(GETPID, "postinit")
    tracees.go()
    found = taken(tracees, pids)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0, 1, 2]
    assert sorted(stop.tid for stop in found if stop.kind == stops.ENTRY) == sorted(pids)


def test_the_last_end_wakes_from_a_nap(tracees):
    """Behind records sonde naps, and single ones do not wake it: nobody would for the last of all."""
    pid = tracees.start(f"{program(NUMBERED)} 0")
    tracees.begin(GETPID)
    tracees.go()
    assert comes(lambda: tracees.take()[1])
    tracees.take()
    tracees._busy = True
    assert tracees.rest(), "it does not nap"
    assert select.select([tracees.descriptor], [], [], 10)[0]
    tracees.awake()
    assert any(stop.kind == stops.END for stop in taken(tracees, [pid]))
    os.waitpid(pid, 0)


@pytest.mark.long
def test_a_command_that_is_never_let_go_does_nothing(tmp_path):
    """Whatever ends the session before its start, also where the command inherits that SIGTERM is ignored: it is killed
    and collected."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        for number in range(20):
            group = FollowedGroup([f"{program(WRITES)} {tmp_path}/made{number}"], [], "postinit", True)
            group.tracees.ready(GETPID)
            group.close()
            # A child that takes long to end is collected by a thread; one that nobody collects stays in /proc.
            assert comes(lambda pid=group.members[0].pid: not os.path.exists(f"/proc/{pid}"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not list(tmp_path.iterdir())


FORKS = """
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int count, char **words) {
    char go; read(0, &go, 1);
    for (int n = atoi(words[1]); n > 0; n--) { if (!fork()) _exit(0); wait(0); }
    return 0;
}
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("others", ["command", "process", "commands"])
def test_a_ring_that_is_full_before_tracing_holds_nothing_up(others):
    """A process of -p makes more others than there is room for while sonde waits for what else it is to trace."""
    tracees, forks, started = Tracees(slots=16), 300, []
    first = subprocess.Popen([program(FORKS), str(forks)], stdin=subprocess.PIPE)
    second = subprocess.Popen(["sleep", "60"])
    try:
        tracees.grab(first.pid)
        first.stdin.close()
        assert comes(lambda: tracees._reader.is_writer_waiting())
        if others == "process":
            tracees.grab(second.pid)
        else:
            started = [tracees.start("true") for _ in range(1 + (others == "commands"))]
        tracees.begin(GETPID, "postinit")
        tracees.go()
        found = taken(tracees, [first.pid, *started])
    finally:
        tracees.close()
        for child in (first, second):
            child.kill()
            child.wait()
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started] == [0] * len(started)
    begun = [stop.tid for stop in found if stop.kind == stops.START and stop.a == first.pid]
    ended = [stop.tid for stop in found if stop.kind == stops.END and stop.tid in begun]
    assert len(begun) == forks
    assert begun == ended
