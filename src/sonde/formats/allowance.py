"""How much memory a recording may take, by what its file has on the disk: holes in it cost nobody anything."""

from __future__ import annotations

import os
from contextlib import suppress

from sonde.typed import BinaryIO

TOO_LARGE = "it takes more memory than a file of its size may take"

_LEAST, _TIMES = 64 << 20, 16


def allowance(file: BinaryIO, size: int) -> int:
    """Bytes that one block of the file, of `size` bytes, may have, or one of its events may take."""
    # What is in memory has no descriptor.
    with suppress(OSError):
        size = min(size, os.fstat(file.fileno()).st_blocks * 512)
    return max(_LEAST, _TIMES * size)
