"""What tests against the running kernel share.

A test is skipped only where the user lacks the privilege, with that as the reason; where the machine claims to offer
something, its absence is a failure. Descriptors of BPF or perf objects that a test leaves open fail it.
"""

import gc
import os

import pytest
from support.machine.access import missing, open_descriptors


def pytest_collection_modifyitems(config, items):
    reason = missing("CAP_BPF", "CAP_PERFMON")
    if not reason:
        return
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def no_descriptor_is_left():
    """No test leaves a descriptor of the kernel's BPF or perf objects open."""
    before = open_descriptors()
    yield
    gc.collect()
    left = {number: name for number, name in open_descriptors().items() if before.get(number) != name}
    left = {number: name for number, name in left.items() if "bpf" in name or "perf" in name or "btf" in name}
    assert not left, f"left open: {left}"
