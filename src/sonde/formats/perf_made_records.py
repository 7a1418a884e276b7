"""Perf records that are made rather than read from a ring: what runs already when tracing begins, and the marks that a
perf.data file has in its data (include/uapi/linux/perf_event.h; tools/lib/perf/include/perf/event.h).

Records of the kernel's kinds end with the fields of struct sample_id, here zeros: time 0 is before everything.
"""

from __future__ import annotations

import struct

from sonde.formats import perf_events as perf

RECORD_FINISHED_ROUND = 68
RECORD_EVENT_UPDATE = 78
FIRST_OF_FILES = 64
"""Records from this kind on (PERF_RECORD_USER_TYPE_START) exist in files alone, and have no trailer."""

EVENT_NAME = 2
"""PERF_EVENT_UPDATE__NAME: the kind of EVENT_UPDATE that gives an event its name."""

_HEADER = perf.HEADER
_UPDATE = struct.Struct("=IHHQQ")
MOST_OF_UPDATE = perf.MAX_RECORD - _UPDATE.size
"""Bytes of the content of an EVENT_UPDATE."""

_KERNEL_PROCESS = -1
_BPF_SYMBOL = 1
"""PERF_RECORD_KSYMBOL_TYPE_BPF."""
_PRIVATE = 2
"""MAP_PRIVATE (mmap(2))."""


def trailer_size(sample_type: int) -> int:
    """Bytes of struct sample_id."""
    return 8 * sum(bool(sample_type & bit) for bit, _, _ in perf.TRAILER_FIELDS)


def _record(kind: int, misc: int, body: bytes) -> bytes:
    return _HEADER.pack(kind, misc, _HEADER.size + len(body)) + body


def _path(value: bytes) -> bytes:
    """A string that ends with a NUL and is padded to whole words. One that is too long for a record is cut off."""
    value = value[:4096] + b"\0"
    return value + bytes(-len(value) & 7)


def comm(pid: int, tid: int, name: bytes, trailer: int) -> bytes:
    """The name of a thread. `trailer`: bytes of struct sample_id, here and in the others."""
    return _record(perf.RECORD_COMM, 0, struct.pack("=II", pid, tid) + _path(name) + bytes(trailer))


def fork(pid: int, parent: int, tid: int, parent_tid: int, trailer: int) -> bytes:
    """That a thread is there, and whose it is."""
    body = struct.pack("=IIIIQ", pid, parent, tid, parent_tid, 0)
    return _record(perf.RECORD_FORK, 0, body + bytes(trailer))


def kernel_mapping(start: int, size: int, offset: int, name: bytes, trailer: int) -> bytes:
    """Where the kernel's text or a module is. Of the kernel's `offset` is the address of the symbol behind the name."""
    body = struct.pack("=iIQQQ", _KERNEL_PROCESS, 0, start, size, offset) + _path(name) + bytes(trailer)
    return _record(perf.RECORD_MMAP, perf.MISC_KERNEL, body)


def kernel_symbol(address: int, size: int, name: bytes, trailer: int) -> bytes:
    """Where the code of a BPF program is."""
    body = struct.pack("=QIHH", address, size, _BPF_SYMBOL, 0) + _path(name) + bytes(trailer)
    return _record(perf.RECORD_KSYMBOL, 0, body)


def mapping(
    pid: int, start: int, end: int, offset: int, device: tuple[int, int], inode: int, protection: int, name: bytes,
    trailer: int,
) -> bytes:  # fmt: skip
    """What a process has mapped; `device` is major and minor number, `protection` PROT_* bits."""
    body = struct.pack(
        "=IIQQQIIQQII", pid, pid, start, end - start, offset, *device, inode, 0, protection, _PRIVATE
    )  # fmt: skip
    return _record(perf.RECORD_MMAP2, perf.MISC_USER, body + _path(name) + bytes(trailer))


def lost(event: int, count: int, trailer: int) -> bytes:
    """That so many records of the event were lost."""
    return _record(perf.RECORD_LOST, 0, struct.pack("=QQ", event, count) + bytes(trailer))


def finished_round() -> bytes:
    """Nothing later in the file is earlier than what stood before the last such record."""
    return _record(RECORD_FINISHED_ROUND, 0, b"")


def event_update(event: int, kind: int, content: bytes) -> bytes:
    """Something about the event with this identifier; at most `MOST_OF_UPDATE` bytes. Kinds that perf does not know it
    passes over (perf_event__process_event_update, util/header.c)."""
    content += bytes(-len(content) & 7)
    return _UPDATE.pack(RECORD_EVENT_UPDATE, 0, _UPDATE.size + len(content), kind, event) + content


def event_name(event: int, name: str) -> bytes:
    return event_update(event, EVENT_NAME, name.encode()[:4096] + b"\0")
