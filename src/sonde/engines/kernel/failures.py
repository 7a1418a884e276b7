"""Errors of system calls in words for the user."""

from __future__ import annotations

import errno
import os
import re

from sonde.machine.system import capabilities
from sonde.model.errors import EngineError

NOT_SUPPORTED = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.E2BIG, 524})
"""What the kernel says to commands, flags and kinds of objects it does not know; 524 is ENOTSUPP (linux/errno.h)."""


_CAPABILITY = r"CAP_(\w+)"
TRACING = "CAP_BPF and CAP_PERFMON"
"""The capabilities that tracing takes, if it is not said otherwise."""


def explain(error: OSError, what: str, needed: str = TRACING) -> EngineError:
    """`what` could not be done ("cannot create map x"): why, and what would help. `needed` are the capabilities that it
    takes, as a list in words."""
    return EngineError(f"{what}: {reason(error, needed)}")


def reason(error: OSError, needed: str = TRACING) -> str:
    match error.errno:
        case errno.EPERM | errno.EACCES:
            return _not_permitted(needed)
        case errno.ENOSYS:
            return "this kernel has no bpf(2) or no perf_event_open(2)"
        case errno.ENOMEM:
            return "not enough memory"
        case errno.E2BIG:
            return "it is larger than this kernel allows"
        case errno.EMFILE:
            return "too many open files; raise the limit with ulimit -n"
        case errno.EINVAL | errno.EOPNOTSUPP | 524:
            return f"this kernel ({os.uname().release}) does not support it ({error.strerror})"
    return (error.strerror or str(error)).lower()


def _not_permitted(needed: str) -> str:
    """What is missing, or that nothing is."""
    forbidden = "a container, kernel lockdown or the kernel's configuration forbids it"
    if os.geteuid() == 0:
        return f"not permitted, though root: {forbidden}"
    held = capabilities()
    if all(not held.isdisjoint({each.lower(), "sys_admin"}) for each in re.findall(_CAPABILITY, needed)):
        return f"not permitted, though this user has {needed}: it takes root, or {forbidden}"
    return f"not permitted; run sonde as root, or give it the capabilities {needed}"
