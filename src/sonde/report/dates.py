"""Points in time as printf's %T and %Y show them, in the local time zone."""

from __future__ import annotations

import time

from sonde.model.units import SECOND


def date_and_time(nanoseconds: int) -> bytes:
    """%Y: `2003 Sep  3 10:23:41`, from nanoseconds since the epoch."""
    return time.strftime("%Y %b %e %H:%M:%S", time.localtime(nanoseconds // SECOND)).encode()


def full_date(nanoseconds: int) -> bytes:
    """%T: `Wed, 03 Sep 2003 10:23:41 PDT`; the year is that of the ISO week (%G), as DTrace has it."""
    return time.strftime("%a, %d %b %G %H:%M:%S %Z", time.localtime(nanoseconds // SECOND)).encode()
