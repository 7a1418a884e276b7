"""The children of runs, in programs that have children of their own and may collect them all."""

import os
import signal
import subprocess

import pytest
from support.machine.left_behind import children, ends, threads

import sonde
from sonde import others

ENGINES = ["kernel", "embedded"]

TICKS = "tick-10ms { trace(++n); @ticks = count(); }"


@pytest.fixture(autouse=True)
def _no_reader():
    """What an earlier test has looked at by itself left a child, which the end of a run ends."""
    others.close()


@pytest.fixture
def child_signal():
    """What SIGCHLD does is as before in the end."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_a_command_that_outlives_its_run_leaves_no_zombie(engine):
    before = children()
    for _ in range(3):
        with sonde.trace("tick-1ms { trace(1); }", "sleep 60", engine=engine) as run:
            next(iter(run))
    assert run.command_status is None
    assert ends(lambda: children() <= before)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_command_that_does_not_end_is_collected_when_it_does(engine, tmp_path):
    before, ready, gate = children(), tmp_path / "ready", tmp_path / "gate"
    os.mkfifo(gate)
    command = ["sh", "-c", f"trap '' TERM; echo > {ready}; read end < {gate}"]
    with sonde.trace("tick-1ms { trace(1); }", command, engine=engine) as run:
        assert ends(ready.exists)
    assert run.command_status is None
    assert children() - before
    gate.write_text("\n")
    assert ends(lambda: children() <= before and "sonde-collector" not in threads())


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_somebody_who_collects_every_child_does_not_disturb(engine, child_signal):
    collected = set()

    def collect_all():
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                collected.add(found)
        except ChildProcessError:
            pass

    signal.signal(signal.SIGCHLD, lambda *_: collect_all())
    for _ in range(8):
        text = "syscall::exit_group:entry /pid == $target/ { @ends = count(); }"
        with sonde.trace(text, ["sh", "-c", "exit 3"], engine=engine) as run:
            run.wait()
        assert int(run.aggregations["ends"][()]) == 1
        assert run.command_status in (None, 3 << 8)
        if run.command_status is None:
            assert ends(lambda: any(status == 3 << 8 for _, status in collected))


@pytest.mark.parametrize("engine", ENGINES)
def test_children_whose_end_nobody_hears_of(engine, child_signal):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    text = "syscall::exit_group:entry /pid == $target/ { @ends = count(); }"
    with sonde.trace(text, "true", engine=engine) as run:
        assert run.wait() == 0
    assert int(run.aggregations["ends"][()]) == 1
    assert run.command_status is None


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_wait_for_no_child_of_somebody_else(engine):
    own = [subprocess.Popen(["sh", "-c", f"sleep 0.0{number}; exit {number}"]) for number in range(8)]
    for _ in range(3):
        with sonde.trace(TICKS, "sleep 0.02", engine=engine) as run:
            run.wait()
    assert [each.wait() for each in own] == list(range(8))
