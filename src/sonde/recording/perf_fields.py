"""Fields of a trace event's record, by the names in the format text that came with it."""

from __future__ import annotations

import re
import sys

from sonde.formats.perf_filed_samples import FiledSample
from sonde.typed import NamedTuple

_FIELD = re.compile(
    r"^\tfield:[^;]*?\b(\w+)(?:\[[^\];]*\])?;\s*offset:(\d{1,5});\s*size:(\d{1,5});(?:\s*signed:([01]);)?", re.MULTILINE
)


class FiledField(NamedTuple):
    """`size` bytes at `offset` of the record."""

    name: str
    offset: int
    size: int
    is_signed: bool


def fields_of(text: str) -> list[FiledField]:
    """Those of a format text, in their order, the common ones first."""
    return [
        FiledField(found[1], int(found[2]), int(found[3]), found[4] == "1") for found in _FIELD.finditer(text)
    ]  # fmt: skip


class EventFields:
    def __init__(self, text: str) -> None:
        self._fields = {each.name: each for each in fields_of(text)}

    def has(self, name: str) -> bool:
        return name in self._fields

    def number(self, sample: FiledSample, name: str) -> int:
        """An integer of 64 bits at most; what the record is too short for is 0."""
        field = self._fields[name]
        data = sample.raw[field.offset : field.offset + min(field.size, 8)]
        return int.from_bytes(data, sys.byteorder, signed=field.is_signed)

    def text(self, sample: FiledSample, name: str) -> bytes:
        """Characters in their place, up to the NUL."""
        field = self._fields[name]
        return bytes(sample.raw[field.offset : field.offset + field.size]).partition(b"\0")[0]
