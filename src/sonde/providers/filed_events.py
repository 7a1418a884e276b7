"""Trace events as a recording describes them, in the place of those that tracefs shows."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.providers.tracefs import FormatField, parse_format


class FiledTraceEvents:
    """The events whose format texts are given, by group and name. They are numbered in their order: the numbers that
    they had where they were recorded mean nothing here."""

    def __init__(self, formats: Mapping[tuple[str, str], str]) -> None:
        self._formats = formats
        self._numbers = {pair: number for number, pair in enumerate(formats, 1)}

    @property
    def readable(self) -> bool:
        return bool(self._formats)

    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group for group, _ in self._formats))

    def all(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._formats)

    def groups_of(self, event: str) -> list[str]:
        return [group for group, name in self._formats if name == event]

    def number(self, group: str, event: str) -> int | None:
        return self._numbers.get((group, event))

    def format(self, group: str, event: str) -> tuple[FormatField, ...] | None:
        text = self._formats.get((group, event))
        return None if text is None else parse_format(text)
