"""Where tracefs is; mounted at its usual place by whoever may, if it is mounted nowhere.

Documentation/trace/ftrace.rst of the kernel: /sys/kernel/tracing exists for this, debugfs mounts it on its own.
"""

from __future__ import annotations

import ctypes
import os

from sonde.untrusted import read_kernel

PLACE = "/sys/kernel/tracing"
_ELSEWHERE = ("/sys/kernel/debug/tracing",)


def find_tracefs() -> str:
    """The directory of tracefs; where there is none and it cannot be mounted, its usual place, which is then empty."""
    for place in (PLACE, *_ELSEWHERE):
        if os.path.isdir(f"{place}/events"):
            return place
    if os.geteuid() == 0 and os.path.isdir(PLACE):
        _mount()
    return PLACE


def _mount() -> None:
    """Try to; a container's root, say, may not, and sonde does without tracefs then."""
    # Only needed where nobody has mounted it yet.

    ctypes.CDLL(None).mount(b"tracefs", PLACE.encode(), b"tracefs", 0, None)


def event_number(group: str, name: str) -> int:
    """What perf_event_attr.config of a trace event is: a number that the kernel gives when it starts or loads a module.
    Raises OSError."""
    return int(read_kernel(f"{find_tracefs()}/events/{group}/{name}/id"))
