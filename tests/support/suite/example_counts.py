"""How many examples a differential test tries: few by default, as many as SONDE_EXAMPLES says in a long run."""

import os

from hypothesis import HealthCheck, settings


def count_of(count):
    """How many examples instead of `count`."""
    return int(os.environ.get("SONDE_EXAMPLES") or count)


def long_run(count):
    """The settings of such a test: always the same examples, unless there are to be more."""
    return settings(
        max_examples=count_of(count), derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
