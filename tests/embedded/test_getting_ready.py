"""Commands exec while sonde does other things (Tracees.ready), and their end is told without a nap."""

import os
import select
import signal

import pytest
from guarded import comes
from targets import program

from sonde.engines.embedded.followed import FollowedGroup
from sonde.target import stops
from sonde.target.plan import ENTRY, Plan
from sonde.target.tracees import Tracees

GETPID = Plan({39: ENTRY})

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
        found.extend(stops.Stop(*record) for record in records)
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


def test_a_command_that_is_never_let_go_does_nothing(tmp_path):
    """Whatever ends the session before its start; also where the command inherits that SIGTERM is ignored."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        for number in range(20):
            group = FollowedGroup([f"{program(WRITES)} {tmp_path}/made{number}"], [], "postinit", True)
            group.tracees.ready(GETPID)
            group.close()
            status = os.waitpid(group.members[0].pid, 0)[1]
            assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not list(tmp_path.iterdir())
