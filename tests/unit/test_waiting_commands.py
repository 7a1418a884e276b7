"""What waits at the end: the first few commands behind exit(), none behind a signal, each table once; all of END's."""

import pytest

from sonde.consume import waiting


class End:
    def __init__(self, asked=False, come=False):
        self.asked, self.come = asked, come

    def was_asked_for(self):
        return self.asked

    def has_come(self):
        return self.come


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
    return now


def test_while_tracing_goes_on_all_are_run():
    commands = waiting.WaitingActions(End())
    assert all(commands.may_run() for _ in range(1009))
    assert not commands.take_dropped()


def test_behind_a_signal_none_is_run_until_end_runs():
    end = End()
    commands = waiting.WaitingActions(end)
    assert commands.may_run()
    end.asked = True
    assert not any(commands.may_run() for _ in range(101))
    assert commands.take_dropped() == [("commands", 101)]
    assert not commands.take_dropped()
    commands.all_are_taken()
    assert all(commands.may_run() for _ in range(101))


def test_behind_exit_the_first_are_run_however_long_they_take(clock):
    commands = waiting.WaitingActions(End(come=True))
    for _ in range(waiting._FIRST):
        assert commands.may_run()
        clock[0] += 60
    assert not commands.may_run()
    assert commands.take_dropped() == [("commands", 1)]


def test_behind_exit_more_are_run_while_that_is_soon(clock):
    commands = waiting.WaitingActions(End(come=True))
    assert all(commands.may_run() for _ in range(1009))
    clock[0] += waiting._MORE
    assert not any(commands.may_run() for _ in range(1009))
    assert commands.take_dropped() == [("commands", 1009)]


@pytest.mark.parametrize("end", [End(asked=True), End(come=True)])
def test_at_the_end_a_table_is_shown_once_until_it_changes(end):
    actions = waiting.WaitingActions(end)
    assert [actions.may_show(each) for each in "aba"] == [True, True, False]
    actions.tables_change()
    assert [actions.may_show(each) for each in "aabb"] == [True, False, True, False]
    assert actions.take_dropped() == [("tables", 3)]
    actions.all_are_taken()
    assert all(actions.may_show("a") for _ in range(101))
