"""What tests of the embedded engine share: where one has the kernel engine do the same, the user has to be allowed."""

import pytest
from support.machine.access import missing


def pytest_collection_modifyitems(items):
    reason = missing("CAP_BPF", "CAP_PERFMON")
    for item in items if reason else ():
        if hasattr(item, "callspec") and item.callspec.params.get("engine") == "kernel":
            item.add_marker(pytest.mark.skip(reason=reason))
