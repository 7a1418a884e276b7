"""System calls as the embedded engine tells of them are those that strace shows: a share of what
tools/calls_against_strace.py compares."""

import sys
from pathlib import Path

import pytest
from support.machine import packages

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import calls_against_strace as against


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    packages.require("gcc", "strace", "unshare")
    return against.Place(tmp_path_factory.mktemp("calls"))


@pytest.fixture(scope="module", params=["31", "32"])
def asked(request):
    return [request.param, "150"]


@pytest.fixture(scope="module")
def expected(place, asked):
    found = against.by_strace(place, asked)
    errors = {call[3] for thread in found for call in thread}
    # No such errors come from the calls themselves: 133 and 4095 are said by the program's filters.
    assert {1, 2, 9, 13, 14, 22, 38, 95, 133, 4095} <= errors
    assert len(found) > 8
    return found


@pytest.mark.share(1)
@pytest.mark.parametrize("way", against.WAYS)
def test_calls_are_those_that_strace_shows(way, place, asked, expected):
    found = against.by_sonde(place, asked, way)
    assert list(against.differences(expected, found, way != "entries")) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", ["5", "6"])
def test_random_bytes_decide_nothing(seed, place):
    """A getrandom() without end fills the memory from which a later call is given its vectors."""
    first = against.by_strace(place, [seed, "1500"])
    calls = [call for thread in first for call in thread]
    assert any(name == "getrandom" and not error and size > 1 << 14 for name, _, size, error in calls)
    for _ in range(4):
        assert list(against.differences(first, against.by_strace(place, [seed, "1500"]), True)) == []


@pytest.mark.long
def test_a_program_of_the_system_makes_the_same_calls(place):
    calls, failed, problems = against.compare(place, ["exec", "ls", "-lR", "/usr/include/linux"], ["calls"])
    assert calls > 100
    assert failed
    assert problems == {"calls": []}


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("openat(0xffffff9c, 0x7ffe, 0, 0) = -1 ENOENT (No such file)", ("openat", (0xFFFFFF9C, 0x7FFE, 0, 0), -2, 2)),
        ("getpid() = 0x12", ("getpid", (), 0x12, 0)),
        ("close(0x3) = -1 (errno 4095)", ("close", (3,), -4095, 4095)),
        ("read(0, 0x10, 0x1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", ("read", (0, 16, 1), -512, 4)),
        ("exit_group(0)   = ?", ("exit_group", (0,), None, None)),
        ("--- SIGCHLD {si_signo=SIGCHLD} ---", None),
    ],
)
def test_lines_of_strace_are_read(line, call):
    found = against.parsed(line)
    assert found == (call and (*call[:2], call[2] if call[2] is None else call[2] & (1 << 64) - 1, call[3]))


def test_a_difference_is_found():
    calls = [[("read", (3, 4, 5), 7, 0), ("close", (3,), 0, 0)]]
    for wrong in (
        ("read", (3, 4, 6), 7, 0),
        ("read", (3, 4, 5), 8, 0),
        ("read", (3, 4, 5), 7, 4),
        ("pread", (3, 4, 5), 7, 0),
    ):
        assert len(list(against.differences(calls, [[wrong, calls[0][1]]], True))) == 1
    assert len(list(against.differences(calls, [calls[0][:1]], True))) == 1
    assert list(against.differences(calls, [[("read", (3, 4, 5, 9), 7, 0), calls[0][1]]], True)) == []
