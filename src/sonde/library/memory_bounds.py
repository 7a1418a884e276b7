"""A bound on the memory that a recording may take to be shown, by a command that does nothing else."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from sonde.typed import BinaryIO

_LEAST, _TIMES = 512 << 20, 4
"""How much memory may be taken to show a recording: so many bytes, or so many for each byte that the file has on its
disk. A hole in a file takes no room there."""


@contextmanager
def bounded_memory(file: BinaryIO) -> Iterator[None]:
    """What takes more than a recording of this size may take raises MemoryError meanwhile, in the whole process."""
    with open("/proc/self/statm", "rb") as statm:
        taken = int(statm.read().split()[5]) * resource.getpagesize()
    most = taken + max(_LEAST, _TIMES * 512 * os.fstat(file.fileno()).st_blocks)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [each for each in (soft, hard, most) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
