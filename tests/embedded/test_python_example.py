"""examples/read-sizes.py: what its first lines say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "read-sizes.py"


def said(engine, *command):
    words = [sys.executable, EXAMPLE, "--engine", engine, *command]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def require_told(text):
    """101 reads of 1,000 bytes, each with a time."""
    assert re.search(r"^dd +0 +101,000$", text, re.M)
    times = [int(count) for count in re.findall(r"^ +[\d,]+ ns #* (\d+)$", text, re.M)]
    assert sum(times) >= 101


DD = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1000", "count=101", "status=none"]


def test_sizes_and_times_are_told():
    require_told(said("embedded", *DD))


def test_a_read_that_fails_is_told():
    assert "cat: a read of descriptor 3 failed: EISDIR\n" in said("embedded", "cat", "/")


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel engine needs root")
def test_sizes_and_times_are_told_in_the_kernel():
    require_told(said("kernel", *DD))
