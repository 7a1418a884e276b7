"""What is said where events of perf are refused to the embedded engine."""

import errno

import pytest

from sonde.engines.embedded.sources import inherited_events
from sonde.engines.kernel.event_ring import LockedMemoryError


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (2, "though kernel.perf_event_paranoid is 2: a container needs"), (-1, "is -1: a container needs"),
        (3, "`sysctl kernel.perf_event_paranoid=2` permits it"),
        (None, "`sysctl kernel.perf_event_paranoid=2` permits"),
    ],
)  # fmt: skip
def test_the_remedy_is_none_that_is_there_already(monkeypatch, level, said):
    monkeypatch.setattr(inherited_events, "setting", lambda path: level)
    assert said in inherited_events.why_not(PermissionError(errno.EACCES, "Permission denied"))


def test_memory_that_may_not_be_locked_has_its_own_remedy():
    assert "`ulimit -l`" in inherited_events.why_not(LockedMemoryError(errno.EPERM, "Operation not permitted"))
