"""The fields of perf records: PERF_RECORD_SAMPLE and PERF_RECORD_LOST (include/uapi/linux/perf_event.h)."""

from __future__ import annotations

import struct

from sonde.formats import perf_events as perf
from sonde.typed import NamedTuple

_ABI_NONE = 0


class PerfSample(NamedTuple):
    """A PERF_RECORD_SAMPLE. `fields` has what attr.sample_type asked for of perf_events.FIXED_FIELDS and
    LAST_FIELDS, by name.

    `raw` includes the padding to 8 bytes: what is in it has to say how long it is. `registers` are those of
    attr.sample_regs_user, () if the thread has none.
    """

    fields: dict[str, int]
    callchain: tuple[int, ...] = ()
    raw: memoryview = memoryview(b"")
    registers: tuple[int, ...] = ()


class Lost(NamedTuple):
    """A PERF_RECORD_LOST: how many records of the event `id` found the ring full."""

    id: int
    lost: int
    fields: dict[str, int]


def decode_sample(body: memoryview, sample_type: int, registers: int = 0) -> PerfSample:
    """The fields behind the header; `registers` is how many attr.sample_regs_user has.

    Raises struct.error where the record is shorter than its fields, ValueError for a sample_type with fields that are
    not known.
    """
    if sample_type & ~perf.READABLE:
        raise ValueError(f"fields of sample_type {sample_type & ~perf.READABLE:#x} are not understood")
    fields, at = _fields(body, 0, perf.FIXED_FIELDS, sample_type)
    callchain: tuple[int, ...] = ()
    raw, values = memoryview(b""), ()
    if sample_type & perf.SAMPLE_CALLCHAIN:
        (count,) = struct.unpack_from("=Q", body, at)
        callchain = struct.unpack_from(f"={count}Q", body, at + 8)
        at += 8 + 8 * count
    if sample_type & perf.SAMPLE_RAW:
        (size,) = struct.unpack_from("=I", body, at)
        raw = body[at + 4 : at + 4 + size]
        at += 4 + size
    if sample_type & perf.SAMPLE_REGS_USER:
        (abi,) = struct.unpack_from("=Q", body, at)
        if abi != _ABI_NONE:
            values = struct.unpack_from(f"={registers}Q", body, at + 8)
        at += 8 + 8 * len(values)
    fields.update(_fields(body, at, perf.LAST_FIELDS, sample_type)[0])
    return PerfSample(fields, callchain, raw, values)


def decode_lost(body: memoryview, sample_type: int = 0) -> Lost:
    """`sample_type` is attr.sample_type where attr.sample_id_all is set, else 0."""
    event, lost = struct.unpack_from("=QQ", body)
    return Lost(event, lost, _fields(body, 16, perf.TRAILER_FIELDS, sample_type)[0])


def _fields(
    body: memoryview, at: int, table: tuple[tuple[int, str, str], ...], sample_type: int
) -> tuple[dict[str, int], int]:
    """The fields of `table` that sample_type asks for, and where they end."""
    fields: dict[str, int] = {}
    for bit, names, codes in table:
        if sample_type & bit:
            fields.update(zip(names.split(), struct.unpack_from("=" + codes, body, at), strict=True))
            at += 8
    return fields, at
