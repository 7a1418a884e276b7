"""Detaching that takes long: closing a trace event waits for a grace period of the kernel, one after the other.

Whoever has the last descriptor waits, also when the process ends. So where there are many a child closes them, which
has everything else closed: sonde waits for it, but may end at any time without waiting.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Sequence

from sonde import children
from sonde.engines.base import Progress
from sonde.engines.kernel import perf_events

_FEW = 4
_LOOK = 0.5
"""Seconds between two looks at how far it is."""

_ENOUGH = 1 << 16


def detach(descriptors: Sequence[int], progress: Progress | None = None) -> None:
    """Close descriptors whose closing waits."""
    if len(descriptors) <= _FEW:
        perf_events.close_all(descriptors)
        return
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        pid = os.fork()
    except OSError:
        # No process may be made: it takes as long, and nothing is told meanwhile.
        os.close(reader)
        os.close(writer)
        perf_events.close_all(descriptors)
        return
    if pid == 0:
        try:
            _close(descriptors, writer)
        finally:
            os._exit(0)
    os.close(writer)
    for descriptor in descriptors:
        os.close(descriptor)
    try:
        _wait(reader, len(descriptors), progress)
    finally:
        os.close(reader)
    children.wait_for(pid)


def _close(descriptors: Sequence[int], writer: int) -> None:
    """In the child: a byte for each that is closed."""
    os.setpgid(0, 0)
    children.forget_handlers()
    # Whoever waited may be gone.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    children.keep_open(sorted((*descriptors, writer)))
    with open("/proc/self/comm", "wb", buffering=0) as file:
        file.write(b"sonde-detach")
    perf_events.close_all(descriptors, lambda: _tell(writer))


def _tell(writer: int) -> None:
    try:
        os.write(writer, b".")
    except BrokenPipeError:
        return  # nobody waits any more


def _wait(reader: int, total: int, progress: Progress | None) -> None:
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    done = 0
    while True:
        if waiting.poll(1000 * _LOOK):
            data = os.read(reader, _ENOUGH)
            if not data:
                return
            done += len(data)
        if progress is not None:
            progress(done, total)
