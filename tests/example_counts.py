"""How many examples a differential test tries: few by default, as many as SONDE_EXAMPLES says in a long run."""

import os

from hypothesis import HealthCheck, settings


def long_run(count):
    """The settings of such a test: always the same examples, unless there are to be more."""
    given = os.environ.get("SONDE_EXAMPLES")
    return settings(
        max_examples=int(given or count), derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
