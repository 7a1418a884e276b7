"""Layouts of records drawn by chance, their bytes in a ring, and the values that were packed."""

import os
import struct
from typing import NamedTuple

from hypothesis import strategies as st

from sonde.library.frames import Frame
from sonde.library.record_reader import ProbeNames
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.records import REAL, Field, PrintfAction, RecordLayout, TraceAction

STRINGS = (b"zero", "umläut".encode(), b"\xff")
PROBES = ProbeNames()
PROBE = Probe(7, "syscall", "vmlinux", "read", "entry", Internal(""))
PROBES.learn([PROBE])
HEADER = 8
"""Bytes before each record in a ring."""


REALS = {4: "<f", 8: "<d"}


def real(size):
    """NaN is left out, which equals nothing."""
    return st.floats(width=8 * size, allow_nan=False).map(
        lambda value: (("int", size, False, REAL), struct.pack(REALS[size], value), value)
    )


def extended(number):
    """The long double of an integer that a double has, too."""
    length = number.bit_length()
    data = struct.pack("<QH6x", number << 64 - length, 16383 + length - 1) if number else bytes(16)
    return ("bytes", 16, False, REAL), data, float(number)


def integer(size, signed):
    low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if signed else (0, (1 << 8 * size) - 1)
    return st.integers(low, high).map(
        lambda value: (("int", size, signed), value.to_bytes(size, "little", signed=signed), value)
    )


TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=5)
VALUE = st.one_of(
    *(integer(size, signed) for size in (1, 2, 4, 8) for signed in (False, True)),
    TEXT.map(lambda text: (("string", 24, False), text.encode().ljust(24, b"\0"), text)),
    st.sampled_from(range(3)).map(
        lambda number: (
            ("interned", 4, False),
            struct.pack("<I", number),
            os.fsdecode(STRINGS[number]),
        )
    ),
    real(4),
    real(8),
    st.integers(0, (1 << 53) - 1).map(extended),
    st.binary(min_size=16, max_size=16).map(lambda data: (("bytes", 16, False), data, data)),
    st.integers(1, 1 << 60).map(lambda at: (("symbol", 8, False), struct.pack("<Q", at), Frame(at))),
)
"""The kind, size, sign and detail of a field, its bytes, and its value."""


class DrawnRecords(NamedTuple):
    """`count` equal records of `layout`, their bytes as in a run, and the values of each statement of one."""

    layout: RecordLayout
    data: bytes
    stride: int
    count: int
    values: list[tuple[object, ...]]
    time: int


@st.composite
def drawn_records(draw):
    """Statements of one value are trace(), of more printf()."""
    statements = draw(st.lists(st.lists(VALUE, min_size=1, max_size=4), min_size=1, max_size=4))
    has_time, count = draw(st.booleans()), draw(st.integers(1, 5))
    end, actions, body = 16, [], b""
    time = None
    if has_time:
        time, end, body = Field(16, 8, "int"), 24, struct.pack("<Q", 12345)
    for values in statements:
        fields = []
        for (kind, size, *more), data, _ in values:
            padding = -end % min(size, 8)
            fields.append(Field(end + padding, size, kind, *more))
            body += bytes(padding) + data
            end += padding + size
        is_trace = len(fields) == 1
        actions.append(TraceAction(fields[0]) if is_trace else PrintfAction((Conversion(""),), tuple(fields)))
    names = tuple(f"value{number}" for number in range(sum(map(len, statements))))
    size = end + 7 & -8
    layout = RecordLayout(1, size, tuple(actions), names=names, time=time)
    record = bytes(HEADER) + (struct.pack("<4I", 1, 7, 3, 0) + body).ljust(size, b"\0")
    packed = [tuple(each[2] for each in values) for values in statements]
    return DrawnRecords(layout, record * count, len(record), count, packed, 12345 if has_time else 0)
