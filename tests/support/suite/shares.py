"""The share of a test's cases that each suite has: the short suite, the long one, and the whole.

`@pytest.mark.share(COUNT)` on a test, or as a module's `pytestmark`, leaves COUNT cases of each test in the short
suite, and marks the others `long`; `@pytest.mark.share(COUNT, MORE)` leaves MORE in both, and marks the others `whole`.
Of tests with an `engine` as parameter, so many of each engine. They are drawn by a digest of their names: always the
same ones, and a new case takes the place of one at most. Cases that are marked `whole` are not drawn.
"""

import hashlib
from collections import defaultdict

import pytest


def _digest(name):
    return hashlib.sha256(name.encode()).digest()


def drawn(names, count):
    """A set of `count` of the names."""
    return set(sorted(names, key=_digest)[:count])


def _family(item):
    """The test function of a case, and the engine that the case is for."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return item.nodeid.partition("[")[0], str(parameters.get("engine", ""))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    families = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("share")
        if mark and not item.get_closest_marker("whole"):
            families[(*_family(item), mark.args)].append(item)
    for (_, _, counts), cases in families.items():
        for count, suite in zip(counts, ("long", "whole"), strict=False):
            kept = drawn([item.nodeid for item in cases], count)
            for item in cases:
                if item.nodeid not in kept:
                    item.add_marker(suite)
