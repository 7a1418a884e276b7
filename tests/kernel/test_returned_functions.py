"""A share of tools/returned_functions.py: all returns of real programs are probed, and nothing of them is changed."""

import subprocess
import sys

import pytest
from support.machine import packages
from support.places import TOOLS


@packages.needs("gcc", "g++")
@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param("bash", marks=pytest.mark.whole), "libstdc++"])
def test_programs_are_as_they_are_alone(name):
    words = [sys.executable, TOOLS / "returned_functions.py", "both", name]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": the same") == 2
