"""What this user may do and what this process has open."""

import os

import pytest

from sonde.engines.kernel.features import FEATURES

CAPABILITIES = {"CAP_SETUID": 7, "CAP_SYS_ADMIN": 21, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39}


def missing(*names):
    """Why this user cannot do what these capabilities are for, "" if it can. CAP_SYS_ADMIN includes newer ones."""
    with open("/proc/self/status", encoding="ascii") as file:
        effective = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    held = {name for name, bit in CAPABILITIES.items() if effective >> bit & 1}
    if "CAP_SYS_ADMIN" in held:
        held |= {"CAP_PERFMON", "CAP_BPF"}
    lacking = [name for name in names if name not in held]
    return f"this user lacks {' and '.join(lacking)}" if lacking else ""


def needs(*names):
    """Skip the decorated test where these capabilities are missing."""
    return pytest.mark.skipif(bool(missing(*names)), reason=missing(*names))


def version(text):
    """(major, minor) of a kernel release."""
    return tuple(int(part) for part in text.split("-")[0].split(".")[:2])


def require(name):
    """Skip the running test where the kernel is older than a feature; fail it where the feature ought to be there."""
    feature = next(feature for feature in FEATURES if feature.name == name)
    if version(os.uname().release) < version(feature.since):
        pytest.skip(f"{name} needs Linux {feature.since}")
    feature.check()


def open_descriptors():
    """What each open descriptor of this process refers to, by number."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one listing the directory
    return found
