"""What a perf.data file tells besides samples: which threads there are, what they are called and have mapped, when
they get a CPU, what is missing (include/uapi/linux/perf_event.h)."""

from __future__ import annotations

import struct

from sonde.formats import perf_events as perf
from sonde.formats.perf_data_reader import DataRecord
from sonde.typed import NamedTuple, TypeAlias

_PAIR = struct.Struct("=II")
_THREAD = struct.Struct("=IIIIQ")
_MAPPED = struct.Struct("=IIQQQ")
_MAPPED_2 = struct.Struct("=IIQQQ24sII")
_FILE = struct.Struct("=IIQQ")
_COUNTED = struct.Struct("=QQ")
_WORD = struct.Struct("=Q")
_EXECUTABLE = 4
_DATA = 1 << 13
"""PERF_RECORD_MISC_MMAP_DATA."""
_KERNEL = 0xFFFF_FFFF


class ThreadNamed(NamedTuple):
    """A thread has a name; `by_exec`: since it has executed a program."""

    pid: int
    tid: int
    name: bytes
    by_exec: bool


class ThreadMade(NamedTuple):
    """`parent_tid` of the process `parent` has made a thread."""

    pid: int
    tid: int
    parent: int
    parent_tid: int


class ThreadEnded(NamedTuple):
    pid: int
    tid: int


class FileMapped(NamedTuple):
    """`size` bytes from `start` on are those of a file from `offset` on, which may be executed. `pid` is -1 for the
    kernel. The build id is b"" where the record has device, inode and its generation instead."""

    pid: int
    tid: int
    start: int
    size: int
    offset: int
    path: str
    device: tuple[int, int]
    inode: int
    generation: int
    build_id: bytes


class ThreadSwitched(NamedTuple):
    """A thread gets a CPU or, `is_out`, leaves it; `is_runnable`: though it could go on."""

    is_out: bool
    is_runnable: bool


class RecordsLost(NamedTuple):
    """So many records found the ring full."""

    number: int


SideBand: TypeAlias = "ThreadNamed | ThreadMade | ThreadEnded | FileMapped | ThreadSwitched | RecordsLost"


class RecordStamp(NamedTuple):
    """When a record other than a sample was written, where and by whom, as its trailer says; -1: it does not."""

    time: int
    pid: int
    tid: int
    cpu: int


NO_STAMP = RecordStamp(0, -1, -1, -1)


class TrailerForm:
    """How the trailer of records is read (struct sample_id), which those of events with this sample_type have."""

    def __init__(self, sample_type: int) -> None:
        codes, self._places = "=", dict[str, int]()
        for bit, names, code in perf.TRAILER_FIELDS:
            if sample_type & bit:
                self._places |= {name: len(self._places) + n for n, name in enumerate(names.split())}
                codes += code
        self._form = struct.Struct(codes)

    @property
    def size(self) -> int:
        return self._form.size

    def decode(self, body: memoryview) -> RecordStamp:
        """Raises struct.error."""
        if len(body) < self._form.size:
            raise struct.error("a record without its trailer")
        fields = self._form.unpack_from(body, len(body) - self._form.size)
        found = [fields[place] if (place := self._places.get(name)) is not None else -1 for name in RecordStamp._fields]
        return RecordStamp(max(found[0], 0), *found[1:])


def decode_side_band(record: DataRecord, trailer: int) -> SideBand | None:
    """What a record tells, None if it is nothing of these; its trailer has so many bytes. Raises struct.error."""
    body = record.body[: len(record.data) - perf.HEADER_SIZE - trailer]
    match record.type:
        case perf.RECORD_COMM:
            pid, tid = _PAIR.unpack_from(body)
            return ThreadNamed(pid, tid, _text(body[8:])[:15], bool(record.misc & perf.MISC_COMM_EXEC))
        case perf.RECORD_FORK:
            pid, parent, tid, parent_tid, _ = _THREAD.unpack_from(body)
            return ThreadMade(pid, tid, parent, parent_tid)
        case perf.RECORD_EXIT:
            pid, _, tid, _, _ = _THREAD.unpack_from(body)
            return ThreadEnded(pid, tid)
        case perf.RECORD_MMAP:
            return _mapped(record.misc, body)
        case perf.RECORD_MMAP2:
            return _mapped_2(record.misc, body)
        case perf.RECORD_SWITCH | perf.RECORD_SWITCH_OF_CPU:
            is_out = bool(record.misc & perf.MISC_SWITCH_OUT)
            return ThreadSwitched(is_out, bool(record.misc & perf.MISC_SWITCH_OUT_PREEMPT))
        case perf.RECORD_LOST:
            return RecordsLost(_COUNTED.unpack_from(body)[1])
        case perf.RECORD_LOST_SAMPLES:
            return RecordsLost(_WORD.unpack_from(body)[0])
    return None


def _mapped(misc: int, body: memoryview) -> FileMapped | None:
    if misc & _DATA:
        return None
    pid, tid, start, size, offset = _MAPPED.unpack_from(body)
    path = _text(body[_MAPPED.size :]).decode(errors="surrogateescape")
    return FileMapped(-1 if pid == _KERNEL else pid, tid, start, size, offset, path, (0, 0), 0, 0, b"")


def _mapped_2(misc: int, body: memoryview) -> FileMapped | None:
    pid, tid, start, size, offset, identity, protection, _ = _MAPPED_2.unpack_from(body)
    if not protection & _EXECUTABLE:
        return None
    path = _text(body[_MAPPED_2.size :]).decode(errors="surrogateescape")
    if misc & perf.MISC_MMAP_BUILD_ID:
        id_ = identity[4 : 4 + min(identity[0], 20)]
        return FileMapped(-1 if pid == _KERNEL else pid, tid, start, size, offset, path, (0, 0), 0, 0, id_)
    major, minor, inode, generation = _FILE.unpack(identity)
    own = -1 if pid == _KERNEL else pid
    return FileMapped(own, tid, start, size, offset, path, (major, minor), inode, generation, b"")


def _text(data: memoryview) -> bytes:
    return bytes(data).partition(b"\0")[0]
