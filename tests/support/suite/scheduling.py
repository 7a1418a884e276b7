"""The distribution of tests over processes: a file's tests stay together, and one process has all that are disturbed
by others that trace the whole machine, and one those that look at the source."""

import pytest
from xdist.scheduler import LoadScopeScheduling

MACHINE, SOURCE = "the whole machine", "the source"

ALONE = frozenset((
    "chill", "endings", "engine_failures", "export", "kernel_statistics", "losses", "mib", "net_providers",
    "object_losses", "overflow_handlers_live", "overflow_objects", "privileges", "same_totals", "samples",
    "servers_static_probes",
))  # fmt: skip
"""Tests of the kernel engine that count what others that trace change: tests/kernel/test_NAME.py."""

SOURCES = frozenset((
    "aggregating", "blamed_faults", "constants_once", "descriptions", "generated_functions", "hostile_files",
    "imports", "kinds_of_mistakes", "known_options", "names", "names_given_once", "processors", "short_suite",
    "text_sinks", "untrusted_everywhere", "written_everywhere",
))  # fmt: skip
"""Tests that look at all files of the source, whose trees one process keeps: tests/unit/test_NAME.py."""

_GROUPS = {f"tests/kernel/test_{name}.py": MACHINE for name in ALONE}
_GROUPS |= {f"tests/unit/test_{name}.py": SOURCE for name in SOURCES}


def group_of(test):
    """The group of a test by its name as pytest writes it: tests of one group run in one process."""
    file = test.partition("::")[0]
    return _GROUPS.get(file, file)


class GroupScheduling(LoadScopeScheduling):
    """xdist's distribution by groups, which also ends where a worker does.

    A worker begins a test when it knows the next one, or that there is none. xdist gives the worker that takes another
    one's place a single unit of work, for one test of which it would wait for ever, and the test that ended the other
    worker once more.
    """

    def _split_scope(self, nodeid):
        return group_of(nodeid)

    def _reschedule(self, node):
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            if self.workqueue:
                self._assign_work_unit(node)
            else:
                node.shutdown()

    def remove_node(self, node):
        """The test that ended the worker, None if that had none left."""
        units = self.assigned_work.pop(node)
        left = [(unit, test) for unit in units.values() for test, is_complete in unit.items() if not is_complete]
        if not left:
            return None
        unit, ending = left[0]
        unit[ending] = True
        self.workqueue.update({scope: each for scope, each in units.items() if not all(each.values())})
        for each in self.assigned_work:
            self._reschedule(each)
        return ending


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return GroupScheduling(config, log)
