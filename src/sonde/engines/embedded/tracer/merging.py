"""What the guardian and the notifier tell, in one order.

Each writes a record before its thread goes on. So what happens because of something else is written behind it, be it
into the other ring, and has a later time; but a ring that is looked at first may get it only behind the look. What is
later than the beginning of the look is therefore left for the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.ring import RecordReader
from sonde.machine.system import monotonic_ns

_time = itemgetter(3)

Records = Sequence[tuple[int, ...]]


def merged(reader: RecordReader, notes: RecordReader, most: int) -> tuple[Records, int, int, int]:
    """Records of both rings by their time; the number that the first would have for the held one, which is the last, to
    have its own; how many are the guardian's (`reader`) and how many the notifier's (`notes`)."""
    limit = monotonic_ns()
    second, is_all_second = notes.records(most)
    first, is_all_first = reader.records(most)
    if not is_all_first:
        limit = min(limit, first[-1][3])
    if not is_all_second:
        limit = min(limit, second[-1][3])
    if first and first[-1][3] > limit:
        del first[bisect_right(first, limit, key=_time) :]
    if first:
        for index, record in enumerate(first):
            if record[1] & stops.HELD:
                del first[index + 1 :]
                limit = record[3] - 1
                break
    if second and second[-1][3] > limit:
        del second[bisect_right(second, limit, key=_time) :]
    taken = len(first)
    number = reader.tail - len(second)
    if not first:
        return second, number, 0, len(second)
    if not second:
        return first, number, taken, 0
    return sorted([*first, *second], key=_time), number, taken, len(second)
