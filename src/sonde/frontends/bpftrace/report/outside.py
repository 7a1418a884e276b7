"""What is shown besides the values of events: files, by cat(), and the time of day."""

from __future__ import annotations

import os
import time

from sonde.frontends.bpftrace.report.number_forms import time_text
from sonde.untrusted import kernel_start


def content(path: bytes, most: int) -> tuple[bytes, str]:
    """The first bytes of a file, and what is wrong with it if it cannot be read."""
    name = os.fsdecode(path)
    try:
        return kernel_start(name, most), ""
    except OSError as error:
        return b"", f"failed to open file '{name}' ({error.strerror})"


def time_of_day(format_: bytes) -> bytes:
    """The local time, by a format of strftime(3)."""
    return time_text(format_.decode(errors="surrogateescape"), time.time_ns()).encode(errors="surrogateescape")
