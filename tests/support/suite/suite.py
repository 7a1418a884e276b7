"""The two suites, each one run of pytest in several processes.

The short suite is deterministic and takes minutes. The long suite has the tests that are marked `long`: differential
and hostile ones, real programs, the pages' examples, and whatever depends on time. A test of the long suite that fails
runs a second time, and is listed (`second_runs.py`).
"""

import os

import pytest

from support.places import EXAMPLES, ROOT, TESTS
from support.suite import second_runs
from support.suite.example_counts import LONG, SUITE

ALL = "--all"

WORKERS = 4
"""Processes. Most tests wait for much of their time, for the kernel to attach and to detach, so that there are more of
them than CPUs."""

LIMIT = 600
"""Seconds that one test may take, on any machine and beside any load: a test that takes as long hangs."""

SHORT_OPTIONS = ("-m", "not long", "--durations=10")
LONG_OPTIONS = ("-m", "long or examples", "--reruns=1", "--durations=20")


def options(is_long):
    """pytest's options for a suite, before those of the command line."""
    return [
        "-q", f"--rootdir={ROOT}", f"--numprocesses={WORKERS}", "--max-worker-restart=8", f"--timeout={LIMIT}",
        *(LONG_OPTIONS if is_long else SHORT_OPTIONS),
    ]  # fmt: skip


def main(words):
    """Run a suite; pytest's exit status, of which 0 means that all tests passed."""
    is_long = ALL in words
    # Modules of tests take their asserts apart, which is kept as bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ[SUITE] = LONG if is_long else "short"
    words = [word for word in words if word != ALL]
    named = any(os.path.exists(word.partition("::")[0]) for word in words)
    places = [] if named else [str(TESTS), str(EXAMPLES / "tests")]
    return pytest.main([*options(is_long), *words, *places], plugins=[second_runs])
