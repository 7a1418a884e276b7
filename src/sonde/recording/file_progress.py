"""How much of a file that is replayed has been read."""

from __future__ import annotations

import os

from sonde.typed import BinaryIO


def progress_of(file: BinaryIO) -> tuple[int, int]:
    """Bytes that were read, and all; zeros for what is no file on a disk or in memory (memfd_create(2))."""
    try:
        return file.tell(), os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return 0, 0
