"""Descriptors whose closing waits are closed by a child: sonde has none of them any more, and waits for it."""

import os
import select
import signal

import pytest

from sonde.engines.kernel import detaching, perf_events
from sonde.session import progress


def pipes(number):
    return [os.pipe2(os.O_CLOEXEC) for _ in range(number)]


@pytest.mark.parametrize("number", [1, 4, 5, 101])
def test_all_are_closed_behind_it(number):
    made = pipes(number)
    told = []
    detaching.detach([writer for _, writer in made], lambda done, total: told.append((done, total)))
    for reader, writer in made:
        assert os.read(reader, 1) == b""
        os.close(reader)
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(writer)
    assert told == sorted(told)
    assert not told or told[-1] == (number, number)


def test_who_is_killed_meanwhile_does_not_wait(monkeypatch):
    """The child that closes goes on."""
    made = pipes(7)
    gate_reader, gate_writer = os.pipe2(os.O_CLOEXEC)
    own_reader, own_writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        os.close(gate_writer)
        kept = detaching.children.keep_open
        detaching.children.keep_open = lambda found: kept(sorted((*found, gate_reader)))

        def close_slowly(descriptors, closed):
            select.select([gate_reader], [], [])
            for each in descriptors:
                os.close(each)
                closed()

        perf_events.close_all = close_slowly
        os.write(own_writer, b".")
        detaching.detach([writer for _, writer in made])
        os._exit(0)
    for _, writer in made:
        os.close(writer)
    os.close(own_writer)
    assert os.read(own_reader, 1) == b"."
    # It waits in a read: its end of `own_writer` is closed by its own end alone.
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    os.close(gate_writer)
    for reader, _ in made:
        assert os.read(reader, 1) == b""
        os.close(reader)
    os.close(gate_reader)
    os.close(own_reader)


def test_a_terminal_shows_how_far_it_is(monkeypatch, tmp_path):
    master, slave = os.openpty()
    monkeypatch.setattr(progress, "_ERRORS", slave)
    show = progress.DetachingProgress()
    show(3, 7)
    show(7, 7)
    text = os.read(master, 1000)
    assert b"3 of 7 probes are detached" in text
    assert text.endswith(b"\n")
    os.close(master)
    show(7, 7)
    os.close(slave)


def test_what_is_no_terminal_is_told_nothing(monkeypatch, tmp_path):
    with (tmp_path / "errors").open("wb") as file:
        monkeypatch.setattr(progress, "_ERRORS", file.fileno())
        progress.DetachingProgress()(3, 7)
    assert (tmp_path / "errors").read_bytes() == b""
