"""The suites, each one run of pytest in several processes.

The short suite is deterministic and takes minutes. The long suite has the tests that are marked `long`: differential
and hostile ones, real programs, the pages' examples, and whatever depends on time. A test of the long suite that fails
runs a second time, and is listed (`second_runs.py`). Of large families of cases, and of examples that are drawn, it
has a share (`shares.py`, `example_counts.py`); the whole has all of them.
"""

import os
import sys

import pytest

from support.places import EXAMPLES, ROOT, TESTS
from support.suite import second_runs
from support.suite.example_counts import LONG, SHORT, SUITE, WHOLE

SUITES = {"--all": LONG, "--whole": WHOLE}
"""By their words on the command line; without one it is the short suite."""

WORKERS = {SHORT: 4, LONG: 6, WHOLE: 6}
"""Processes. Most tests wait for much of their time, for the kernel to attach and to detach, so that there are more of
them than CPUs."""

LIMIT = 600
"""Seconds that one test may take, on any machine and beside any load: a test that takes as long hangs."""

OPTIONS = {
    SHORT: ("-m", "not long", "--durations=10"),
    LONG: ("-m", "(long or examples) and not whole", "--reruns=1", "--durations=20"),
    WHOLE: ("-m", "long or examples", "--reruns=1", "--durations=20"),
}


def options(suite):
    """pytest's options for a suite, before those of the command line."""
    return [
        "-q", f"--rootdir={ROOT}", f"--numprocesses={WORKERS[suite]}", "--max-worker-restart=8", f"--timeout={LIMIT}",
        *OPTIONS[suite],
    ]  # fmt: skip


def main(words):
    """Run a suite; pytest's exit status, of which 0 means that all tests passed."""
    suite = next((SUITES[word] for word in words if word in SUITES), SHORT)
    # Modules of tests take their asserts apart, which is kept as bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ[SUITE] = suite
    # Another python3 may be a script that looks for an interpreter, and makes calls as it pleases.
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    words = [word for word in words if word not in SUITES]
    named = any(os.path.exists(word.partition("::")[0]) for word in words)
    places = [] if named else [str(TESTS), str(EXAMPLES / "tests")]
    return pytest.main([*options(suite), *words, *places], plugins=[second_runs])
