"""The number of examples of a test that draws them: each suite has a share of it.

Such a test is marked `examples`, since each suite has it; SONDE_EXAMPLES says how many in a longer run.
"""

import itertools
import os

from hypothesis import HealthCheck, settings

SUITE = "SONDE_SUITE"
SHORT, LONG, WHOLE = "short", "long", "whole"
SHARES = {SHORT: 5, LONG: 4, WHOLE: 1}
"""A suite has one example of so many."""

USUAL = {SHORT: 30, LONG: 40, WHOLE: 100}
"""Examples of a test that does not say how many."""


def usual_count():
    return int(os.environ.get("SONDE_EXAMPLES") or USUAL[os.environ.get(SUITE, SHORT)])


def count_of(count):
    """How many examples instead of `count`."""
    asked = os.environ.get("SONDE_EXAMPLES")
    if asked:
        return int(asked)
    return max(1, count // SHARES[os.environ.get(SUITE, SHORT)])


def share_of(cases):
    """One of so many of the cases that the whole suite has; those of SONDE_EXAMPLES are all."""
    stride = 1 if os.environ.get("SONDE_EXAMPLES") else SHARES[os.environ.get(SUITE, SHORT)]
    return itertools.islice(cases, None, None, stride)


def long_run(count):
    """The settings of such a test: always the same examples, unless there are to be more."""
    return settings(
        max_examples=count_of(count), derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
