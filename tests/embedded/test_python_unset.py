"""What nobody has set: numbers are 0, texts have no truth, and variables may be made of themselves."""

import pytest

import sonde
from sonde import exit, probe, thread

named, counted, peaks = {}, {}, {}
total, title = 0, ""


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
    thread.most = thread.most if thread.most > 4 else 4
    print(thread.calls, counted[p.pid], peaks[p.pid, "a"], total, thread.most)


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
    assert found == [(1, -5, 7, 3, 4), (2, -10, 7, 9, 4)]


def test_variables_made_of_others_are_not():
    with pytest.raises(sonde.CompileError, match=r"no probe sets thread\.other"):
        sonde.compile(made_of_another, engine="embedded")
