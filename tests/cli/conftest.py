"""Tests of the command as its users run it."""

import sys
from pathlib import Path

# What the tests of the kernel engine know of this user's privileges holds here too.
sys.path.insert(0, str(Path(__file__).parents[1] / "kernel"))
