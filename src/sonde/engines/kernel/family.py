"""Those that descend from a process before programs see who starts whom: made known to the programs."""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress

from sonde.engines.kernel import commands
from sonde.engines.kernel.maps import KernelMap
from sonde.machine import proc
from sonde.machine.descendants import descendants
from sonde.model.errors import EngineError

_PIDFD_THREAD = os.O_EXCL
"""A descriptor of any thread (include/uapi/linux/pidfd.h), from Linux 6.9 on; before, of a process's first only."""


def adopt_descendants(family: KernelMap, pid: int) -> None:
    """Mark all threads that descend from the process in the map `spec.FAMILY`. Raises EngineError."""
    if not proc.is_own():
        # Numbers are those of other processes there.
        return
    for tid in descendants(pid):
        _mark(family, tid)


def _mark(family: KernelMap, tid: int) -> None:
    try:
        descriptor = _open(tid)
    except ProcessLookupError:
        return
    except OSError as error:
        if error.errno == errno.EINVAL:
            # Not a process's first thread, and the kernel gives descriptors of no others.
            return
        raise EngineError(f"cannot open process {tid}: {error.strerror}") from None
    try:
        # A thread that has ended by now has no number any more (ENOENT).
        with suppress(FileNotFoundError):
            commands.update_element(family.descriptor, struct.pack("=i", descriptor), struct.pack("=Q", 1))
    except OSError as error:
        raise EngineError(f"cannot mark process {tid} as a descendant: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _open(tid: int) -> int:
    try:
        return os.pidfd_open(tid, _PIDFD_THREAD)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return os.pidfd_open(tid)
