"""Whether a thread is told of as it is: while it stands for its tracer, or where it is sonde's own.

A probe may fire in a thread that nobody holds: one that has sent a signal which is told of when it arrives, or one that
is gone.
"""

from __future__ import annotations

import os
from errno import EBUSY

from sonde.machine.facts import state

_TRACED = "t"


def require_standing(tid: int) -> None:
    """Raises OSError for a thread that runs on."""
    if tid != os.getpid() and state(tid) != _TRACED:
        raise OSError(EBUSY, os.strerror(EBUSY))
