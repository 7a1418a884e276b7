"""Finding the runs in a ring: consecutive records of one layout, one length and one speculation."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.formats import damage
from sonde.formats.bpf_ring import DISCARD, RING_HEADER, record_size
from sonde.model.records import HEADER_SIZE, SPECULATION_AT
from sonde.typed import TypeAlias

_LAYOUT = RING_HEADER // 4
_SPECULATION = _LAYOUT + SPECULATION_AT // 4
_MOST_ZEROS = 1 << 18
_LONGEST = 16384
"""Records handed over at once: bounds the memory of the text made of them."""


Span: TypeAlias = "tuple[int, int, int, int, int]"
"""Layout and speculation of a run, where it starts and stops, and the bytes from one record to the next.

A plain tuple: where layouts alternate there is one for each record.
"""


def spans(data: memoryview) -> Iterator[Span]:
    """The runs in ring bytes; discarded records are skipped. Raises DamagedError where a record has no end.

    Each header word of a run is read with one strided slice, so that a long run costs little a record; the number of
    records looked at grows while the run goes on.
    """
    if len(data) % 4:
        raise _damaged("what was read of a ring is no whole record")
    words = data.cast("I")
    position, end, chunk = 0, len(words), 16
    while position < end:
        length = words[position]
        step = record_size(length) >> 2
        if position + step > end:
            raise _damaged("a record is longer than what was read")
        if length & DISCARD or length < HEADER_SIZE:
            position = position + step if length else _behind_zeros(words, position)
            continue
        layout, speculation = words[position + _LAYOUT], words[position + _SPECULATION]
        count, following = 1, position + step
        if following + step <= end and words[following] == length and words[following + _LAYOUT] == layout:
            limit = min(chunk, (end - position) // step)
            count = _equal(words, position, step, limit, (length, layout, speculation))
            chunk = min(chunk * 4, _LONGEST) if count == limit else 16
        stop = position + count * step
        yield layout, speculation, position * 4, stop * 4, step * 4
        position = stop


def _behind_zeros(words: memoryview, position: int) -> int:
    """Behind headers that are zero. Raises DamagedError where there are too many for any ring."""
    start, looked = position, 16
    while position < len(words) and not words[position]:
        column = words[position : position + looked : 2].tobytes()
        position += (len(column) - len(column.lstrip(b"\0"))) // 4 * 2
        looked = min(4 * looked, _MOST_ZEROS)
        if position - start >= _MOST_ZEROS:
            raise _damaged("there are zeros in the place of records")
    return position


def _equal(words: memoryview, start: int, step: int, limit: int, expected: tuple[int, int, int]) -> int:
    """How many of `limit` records from word `start` on have the expected length, layout and speculation.

    Every word compared belongs to a header: the next header is where it is as long as the ones before were equal.
    """
    stop = start + limit * step
    columns = [words[start + place : stop : step] for place in (0, _LAYOUT, _SPECULATION)]
    if all(map(_is_all, columns, expected)):
        return limit
    for index, found in enumerate(zip(*[column.tolist() for column in columns], strict=True)):
        if found != expected:
            return index
    return limit


def _is_all(column: memoryview, value: int) -> bool:
    return column.tobytes() == value.to_bytes(4, "little") * len(column)


def _damaged(text: str) -> Exception:
    return damage.DamagedError(f"it is damaged: {text}")
