"""What `raw` and `read` share: bounds, and what is said of a recording behind its text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sonde.cli.acting import tell
from sonde.cli.messages import FatalError, Messages
from sonde.report.commands import Act
from sonde.typed import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from sonde.consume.replaying import Replayed

_LEAST, _TIMES = 512 << 20, 4
"""How much memory may be taken to show a recording: so many bytes, or so many for each byte that the file has on its
disk. A hole in a file takes no room there."""


@contextmanager
def bounded_memory(file: BinaryIO) -> Iterator[None]:
    """What takes more than a recording of this size may take raises MemoryError meanwhile."""
    import resource  # an import that most runs do without

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


def conclude(path: str, replayed: Replayed, cut: str, act: Act, messages: Messages) -> None:
    """Say what became of the recording. `cut`: where it ends too early, which no session that is killed can help.
    Raises FatalError where it is damaged."""
    tell(act, path, messages)
    records = "1 record" if replayed.records == 1 else f"{replayed.records} records"
    if replayed.damage:
        raise FatalError(f"{path}: {replayed.damage}; before that {records} could be shown")
    if cut:
        messages.error(f"{path}: {cut}; what stands before that was shown ({records})")
