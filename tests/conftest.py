"""What all tests share: a slow machine fails no property, signals have their usual meaning, and what sonde keeps
between runs is kept apart, and what a missing package leaves out is told."""

import gc
import os
import signal

from support.suite import as_compiled  # noqa: F401 - before anything else is imported

# isort: split
import pytest
from hypothesis import settings
from support.machine.packages import pytest_runtest_call, pytest_runtest_setup  # noqa: F401
from support.suite.example_counts import usual_count
from support.suite.executed import pytest_runtest_protocol  # noqa: F401 - a hook of pytest
from support.suite.left_out import pytest_terminal_summary  # noqa: F401 - hooks of pytest
from support.suite.scheduling import pytest_xdist_make_scheduler  # noqa: F401 - a hook of xdist
from support.suite.shares import pytest_collection_modifyitems  # noqa: F401

# Always the same examples; no test has a limit on its time but the suite's.
settings.register_profile(
    "deterministic", settings.default, max_examples=usual_count(), deadline=None, derandomize=True, database=None
)
settings.load_profile("deterministic")

# A shell starts its background commands with these ignored, and what tests start and interrupt would inherit it.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)


# Workloads write their lines whole, though sonde writes to the same pipe: unbuffered, print() writes word by word.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_collection(session):
    """Nothing of what collecting makes is garbage: to look for some takes a sixth of its time."""
    gc.disable()


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """The cache directory of whoever runs the tests is left alone."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="module", autouse=True)
def _kept_from_the_collector():
    """Millions of objects live as long as the tests: the collector need not look at those of modules before, which
    takes seconds wherever a test asks for a collection."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_signals():
    """What the command does to signals ends with the test that runs it in this process: with the default for SIGPIPE
    a later test that writes to who has gone would end all of them."""
    # Python's own way, whatever was called while tests were collected.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
