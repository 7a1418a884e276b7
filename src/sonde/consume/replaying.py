"""A recording, shown by the consumer that would have shown it at the time, as far as it makes sense.

A file is believed until that fails: what then comes of it is not an error of sonde's but the end of what can be shown.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress

from sonde.consume.consumer import Consumer
from sonde.consume.recorded import Replay
from sonde.formats.allowance import TOO_LARGE
from sonde.formats.raw_file import RawFileError
from sonde.model import named_maps
from sonde.typed import NamedTuple

SENSELESS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError, struct.error,
    RawFileError,
)  # fmt: skip
"""What comes of records that are not as a description says."""


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
    except SENSELESS as error:
        with suppress(*SENSELESS):
            end(False)
        return Replayed(consumer.records, f"{file.place}{cause_of(error)}")
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


def cause_of(error: Exception) -> str:
    """What is wrong with a file of which that came."""
    if isinstance(error, RawFileError):
        return str(error)
    if isinstance(error, MemoryError):
        return TOO_LARGE
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"it is damaged: what stands there is not as it is described ({detail})"
