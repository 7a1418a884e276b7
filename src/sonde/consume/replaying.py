"""A recording, shown by the consumer that would have shown it at the time, up to where it is damaged."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from sonde.consume.consumer import Consumer
from sonde.consume.recorded import Replay
from sonde.formats.allowance import TOO_LARGE
from sonde.formats.damage import DamagedError
from sonde.model import named_maps
from sonde.typed import NamedTuple


class Replayed(NamedTuple):
    """How many `records` were shown, and the `damage` that ended that early, "" if nothing did."""

    records: int
    damage: str


def replay(file: Replay, consumer: Consumer, end: Callable[[bool], None] = lambda is_whole: None) -> Replayed:
    """Let a consumer of `file`, made with an infinite `status_rate`, show the whole recording. `end` is called when
    that has been shown, or, with False, what stands before the damage."""
    try:
        _play(file, consumer)
        end(True)
    except (DamagedError, MemoryError) as error:
        damage = f"{file.place}{error if isinstance(error, DamagedError) else TOO_LARGE}"
        with suppress(DamagedError, MemoryError):
            end(False)
        return Replayed(consumer.records, damage)
    return Replayed(consumer.records, "")


def _play(file: Replay, consumer: Consumer) -> None:
    while True:
        if file.has_ring:
            consumer.poll()
        elif file.has_map(named_maps.SPECULATION_COUNTS):
            # It was looked at although the rings were empty.
            consumer.poll()
        elif file.has_map("counters"):
            consumer.report_drops()
        elif not (file.has_refresh and consumer.refresh()):
            break
    consumer.finish()
