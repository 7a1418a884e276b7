"""The distribution of tests over processes: a file's tests stay together, and one process has all that are disturbed
by others that trace the whole machine."""

import pytest
from xdist.scheduler import LoadScopeScheduling

MACHINE = "the whole machine"

ALONE = frozenset((
    "chill", "endings", "engine_failures", "export", "kernel_statistics", "losses", "mib", "net_providers",
    "object_losses", "overflow_handlers_live", "overflow_objects", "privileges", "same_totals", "samples",
    "servers_static_probes",
))  # fmt: skip
"""Tests of the kernel engine that count what others that trace change: tests/kernel/test_NAME.py."""

_PREFIX, _SUFFIX = "tests/kernel/test_", ".py"


def group_of(test):
    """The group of a test by its name as pytest writes it: tests of one group run in one process."""
    file = test.partition("::")[0]
    is_alone = file.startswith(_PREFIX) and file[len(_PREFIX) : -len(_SUFFIX)] in ALONE
    return MACHINE if is_alone else file


class GroupScheduling(LoadScopeScheduling):
    """xdist's distribution by groups."""

    def _split_scope(self, nodeid):
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return GroupScheduling(config, log)
