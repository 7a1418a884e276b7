"""What nobody has set: numbers are 0, texts have no truth, and variables may be made of themselves."""

import pytest

import sonde
from sonde import exit, probe, thread

named, counted, peaks, by_number = {}, {}, {}, {}
total, later, inner, untouched, title = 0, 0, 0, 0, ""


@probe("BEGIN")
def nobody_has_set(p):
    global title
    print(
        1 if thread.text else 0, 1 if not thread.text else 0, thread.text == "", thread.text != "", thread.text == "a"
    )
    print(1 if named[5] else 0, named[5] == "", named[5] != "", 1 if title else 0, thread.number)
    if thread.text and thread.text == "a":
        print("never")


@probe("BEGIN")
def somebody_sets(p):
    global title
    thread.text = "a"
    named[5] = "b"
    title = "c"
    thread.number = 3


@probe("BEGIN")
def somebody_has_set(p):
    global title
    print(1 if thread.text else 0, thread.text == "", named[5] != "", 1 if title else 0, thread.number)
    thread.text = ""
    print(1 if thread.text else 0, thread.text == "")


@probe("BEGIN")
def made_of_themselves(p):
    global total
    thread.calls = thread.calls + 1
    counted[p.pid] = counted[p.pid] - 5
    peaks[p.pid, "a"] = max(peaks[p.pid, "a"], 7)
    total = total * 2 + 3
    thread.doubled += thread.doubled + 1
    thread.most = thread.most if thread.most > 4 else 4
    print(thread.calls, counted[p.pid], peaks[p.pid, "a"], total, thread.most, thread.doubled)


@probe("BEGIN")
def done(p):
    exit(0)


@probe("BEGIN")
def made_of_another(p):
    thread.one = thread.other


def test_what_nobody_has_set():
    functions = nobody_has_set, somebody_sets, somebody_has_set, done
    with sonde.run(*functions, engine="embedded", duration=30) as run:
        events = [event for event in run if not isinstance(event, sonde.Exit)]
    assert [event.values for event in events] == [
        (0, 1, 1, 0, 0), (0, 1, 0, 0, 0), (1, 0, 1, 1, 3), (0, 1)
    ]  # fmt: skip


def test_variables_made_of_themselves_are_numbers():
    with sonde.run(made_of_themselves, made_of_themselves, done, engine="embedded", duration=30) as run:
        found = [event.values for event in run if isinstance(event, sonde.Record)]
    assert found == [(1, -5, 7, 3, 4, 1), (2, -10, 7, 9, 4, 3)]


def test_variables_made_of_others_are_not():
    with pytest.raises(sonde.CompileError, match=r"no probe sets thread\.other"):
        sonde.compile(made_of_another, engine="embedded")


@probe("BEGIN")
def told_of_what_nobody_sets(p):
    global total, title, untouched
    print(untouched, untouched + 1)


def test_a_shared_variable_that_nobody_sets_is_as_it_is():
    with sonde.run(told_of_what_nobody_sets, done, engine="embedded", duration=30) as run:
        assert [event.values for event in run if isinstance(event, sonde.Record)] == [(0, 1)]


def setting(number):
    """In a function that is copied, as it returns in the midst of it."""
    global inner
    if number > 100:
        return inner
    before = inner
    inner = number
    return before


@probe("BEGIN")
def set_later(p):
    global later
    setting(setting(7))
    if thread.last:
        print("since", thread.count, thread.last == "x", by_number[1], later)
    for number in (1, 2):
        thread.count = thread.count + number * thread.step
        thread.step = 1
    thread.last = "x"
    by_number[1] = by_number[2] - 1
    by_number[2] += 10
    later = thread.count * 2


def test_variables_that_are_set_behind_their_use():
    with sonde.run(set_later, set_later, set_later, done, engine="embedded", duration=30) as run:
        found = [event.values for event in run if isinstance(event, sonde.Record)]
    assert found == [(2, 1, -1, 4), (5, 1, 9, 10)]
