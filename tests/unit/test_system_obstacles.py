"""Errors of system calls that lead to what the system lacks or refuses, and not to what was under way."""

import errno
import os

import pytest

from sonde.cli import main as command
from sonde.library.errors import aborted, of_system
from sonde.machine import obstacles


def test_a_file_system_that_is_not_mounted_is_named(monkeypatch):
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "/sys/devices/system/cpu/online")
    assert obstacles.obstacle(error) is None
    monkeypatch.setattr(obstacles.os.path, "exists", lambda path: False)
    found = aborted(error)
    assert found.text == "processing aborted: /sys is not mounted, of which sonde reads /sys/devices/system/cpu/online"
    assert found.remedy == "as root: mount -t sysfs sysfs /sys"


@pytest.mark.share(2)
@pytest.mark.parametrize("name", obstacles._CALLS)
def test_a_call_that_a_filter_refuses_is_named(name, monkeypatch):
    def refused():
        raise PermissionError(errno.EPERM, "Operation not permitted")

    error = PermissionError(errno.EPERM, "Operation not permitted")
    assert obstacles.obstacle(error) is None
    monkeypatch.setitem(obstacles._CALLS, name, refused)
    found = of_system(error)
    assert found.text == f"{name}(2) is refused: Operation not permitted"
    assert "seccomp" in found.remedy


def test_other_errors_stay_what_they_are():
    assert obstacles.obstacle(OSError(errno.EIO, "Input/output error", "/proc/1/mem")) is None
    assert obstacles.obstacle(PermissionError(errno.EPERM, "Operation not permitted", "/proc/1/mem")) is None
    assert "ulimit -n" in obstacles.obstacle(OSError(errno.EMFILE, "Too many open files")).remedy


def test_without_memory_a_command_ends_with_a_message(monkeypatch, capfd):
    def exhausted(words, messages):
        raise MemoryError

    monkeypatch.setattr(command, "_command", exhausted)
    assert command.main(["sonde", "-l"]) == 1
    said = capfd.readouterr().err
    assert said.startswith("sonde: there is not enough memory\n")
    assert "ulimit -v" in said


def test_trials_leave_nothing_open():
    before = len(os.listdir("/proc/self/fd"))
    for each in obstacles._CALLS.values():
        each()
    assert len(os.listdir("/proc/self/fd")) == before
