"""The wall clock where sonde is started in a time namespace, whose clocks are ahead of the kernel's or behind."""

import subprocess
import time

import pytest
from support.command.command import SONDE, environment
from support.machine import packages
from support.machine.access import needs

from sonde.machine.system import namespace_offset

pytestmark = [needs("CAP_SYS_ADMIN"), packages.needs("unshare")]
OFFSETS = {"monotonic": ["--monotonic", "50000"], "both": ["--boottime", "90000", "--monotonic", "70000"],
           "behind": ["--monotonic", "-30"]}  # fmt: skip
PROGRAM = """
syscall::write:entry, proc:::exit /pid == $target/ { printf("%d %Y\\n", walltimestamp / 1000000000, walltimestamp); }
"""


def inside(offsets, *words):
    """What the command prints in a time namespace."""
    done = subprocess.run(["unshare", "--time", *offsets, SONDE, *map(str, words)], capture_output=True, text=True,
                          env=environment())  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_now(text, begun):
    """Lines of a number of seconds and of a date are of the time since then."""
    found = [line.split(" ", 1) for line in text.splitlines() if line.strip()]
    assert found
    for seconds, date in found:
        assert begun - 1 <= int(seconds) <= time.time() + 1
        assert abs(time.mktime(time.strptime(date, "%Y %b %d %H:%M:%S")) - int(seconds)) <= 1


@pytest.mark.share(2)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
@pytest.mark.parametrize("offsets", OFFSETS)
def test_the_time_of_firings(engine, offsets):
    begun = time.time()
    text = inside(OFFSETS[offsets], "--engine", engine, "-q", "-c", "echo", "-n", PROGRAM)
    assert_now(text, begun)


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_times_of_bpftrace(engine):
    begun = time.time()
    text = 'begin { printf("%s %s\\n", strftime("%s", nsecs), strftime("%Y %b %d %H:%M:%S", nsecs)); exit(); }'
    assert_now(inside(OFFSETS["monotonic"], "bt", "-q", "--engine", engine, "-c", "true", "-e", text), begun)


@pytest.mark.share(1)
@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_a_recording_has_the_time_of_its_firings(engine, tmp_path):
    """Replayed where the clocks are others."""
    begun, file = time.time(), tmp_path / "recording"
    inside(OFFSETS["both"], "--engine", engine, "-q", "-c", "echo", "--record", file, "-n", PROGRAM)
    done = subprocess.run([SONDE, "-q", "--replay", str(file), "-n", PROGRAM], capture_output=True, text=True,
                          env=environment())  # fmt: skip
    assert_now(done.stdout, begun)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("monotonic           50000         7\nboottime            0         0\n", 50000 * 10**9 + 7),
        ("monotonic -3 500\n", -3 * 10**9 + 500), ("boottime 5 5\n", 0), ("1 2 0\n", 2 * 10**9), ("", 0),
        ("monotonic x y", 0),
    ],
)  # fmt: skip
def test_what_the_kernel_tells_of_the_namespace(tmp_path, text, expected):
    (tmp_path / "offsets").write_text(text)
    assert namespace_offset(str(tmp_path / "offsets")) == expected
    assert namespace_offset(str(tmp_path / "none")) == 0
