"""What tests against the running kernel share.

A test is skipped only where the user lacks the privilege, with that as the reason; where the machine claims to offer
something, its absence is a failure. What a test leaves behind - descriptors, programs - fails it.
"""

import gc
import os

import pytest

NEEDED_CAPABILITIES = {"CAP_PERFMON": 38, "CAP_BPF": 39}
CAP_SYS_ADMIN = 21


def missing_privilege():
    """Why this user cannot use the kernel engine, "" if it can."""
    with open("/proc/self/status", encoding="ascii") as file:
        effective = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    if effective >> CAP_SYS_ADMIN & 1:
        return ""
    missing = [name for name, bit in NEEDED_CAPABILITIES.items() if not effective >> bit & 1]
    return f"this user lacks {' and '.join(missing)}" if missing else ""


def pytest_collection_modifyitems(config, items):
    reason = missing_privilege()
    if not reason:
        return
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason=reason))


def open_descriptors():
    """What each open descriptor of this process refers to, by number."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one listing the directory
    return found


@pytest.fixture(autouse=True)
def no_descriptor_is_left():
    """No test leaves a descriptor of the kernel's BPF or perf objects open."""
    before = open_descriptors()
    yield
    gc.collect()
    left = {number: name for number, name in open_descriptors().items() if before.get(number) != name}
    left = {number: name for number, name in left.items() if "bpf" in name or "perf" in name or "btf" in name}
    assert not left, f"left open: {left}"
