"""Files that cat() of bpftrace's language shows: the beginning of any, or a reason, and no wait."""

import os

import pytest

from sonde.frontends.bpftrace.report.outside import content

MIB = 1 << 20


def test_the_beginning_of_a_large_file_is_shown(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (MIB + 1))
    assert content(bytes(tmp_path / "large"), MIB) == (b"x" * MIB, "")


def test_a_pipe_that_nobody_writes_to_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert content(bytes(tmp_path / "pipe"), MIB)[0] == b""


@pytest.mark.parametrize("name", [b"/", b"/nowhere/at all", b"a" * 5000, b"\xff"])
def test_what_cannot_be_read_is_told(name):
    data, wrong = content(name, MIB)
    assert (data, wrong.startswith("failed to open file")) == (b"", True)
