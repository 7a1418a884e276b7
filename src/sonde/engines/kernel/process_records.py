"""Perf's records of what processes do: mappings, exec, fork and exit (include/uapi/linux/perf_event.h).

They are those of an event with attr.mmap2, comm_exec, task and sample_id_all set and sample_type TID | TIME.
"""

from __future__ import annotations

import os
import struct

from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRecord
from sonde.recent import Recent
from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import Executed, Exited, Forked, Mapped, ProcessEvent

SAMPLE_TYPE = perf.SAMPLE_TID | perf.SAMPLE_TIME

_MAPPED = struct.Struct("=IIQQQIIQQII")
"""pid, tid, address, length, offset, major, minor, inode, its generation, protection, flags; the path follows."""

_THREAD = struct.Struct("=IIIIQ")
"""pid, parent's pid, tid, parent's tid, time."""

_PAIR = struct.Struct("=II")
_TIME = struct.Struct("=Q")
_TRAILER = 16
_EXECUTABLE = 4

_MOST_FILES = 1 << 12
"""Files whose names and numbers are one object each, however many processes have them mapped."""

_files: Recent[tuple[bytes, int, int, int], tuple[str, str, int]] = Recent(_MOST_FILES)
"""By the bytes of the name, major, minor and inode: path, device and inode."""


def decode(record: PerfRecord) -> ProcessEvent | None:
    """What a record tells, None if it is nothing that concerns mappings. Raises struct.error for one that is cut
    off."""
    kind, misc, body = record
    if kind == perf.RECORD_MMAP2:
        return None if misc & perf.MISC_MMAP_BUILD_ID else _mapped(body)
    if kind == perf.RECORD_COMM:
        return Executed(_time(body), _PAIR.unpack_from(body)[0]) if misc & perf.MISC_COMM_EXEC else None
    if kind in (perf.RECORD_FORK, perf.RECORD_EXIT):
        pid, parent, tid, _, time = _THREAD.unpack_from(body)
        if kind == perf.RECORD_FORK:
            return Forked(time, pid, parent) if pid != parent else None
        return Exited(time, pid) if tid == pid else None
    return None


def _mapped(body: memoryview) -> Mapped | None:
    pid, _, start, length, offset, major, minor, inode, generation, protection, _ = _MAPPED.unpack_from(body)
    if not protection & _EXECUTABLE:
        return None
    key = bytes(body[_MAPPED.size : -_TRAILER]).partition(b"\0")[0], major, minor, inode
    path, device, inode = _files.get(key) or _files.put(key, _file(*key))
    return Mapped(_time(body), pid, Mapping(start, start + length, offset, device, inode, path, True, generation))


def _file(name: bytes, major: int, minor: int, inode: int) -> tuple[str, str, int]:
    return "" if name == b"//anon" else os.fsdecode(name), f"{major:02x}:{minor:02x}", inode


def _time(body: memoryview) -> int:
    """From the trailer: u32 pid, u32 tid, u64 time."""
    return int(_TIME.unpack_from(body, len(body) - _TIME.size)[0])
