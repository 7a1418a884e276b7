"""Trace events as tracefs shows them: which there are, their numbers and the layout of their records
(Documentation/trace/events.rst)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from sonde.typed import NamedTuple, Protocol
from sonde.untrusted import kernel_text, read_kernel

_FIELD = re.compile(r"^\tfield:([^;]+);\s*offset:(\d+);\s*size:(\d+);(?:\s*signed:(\d+);)?", re.MULTILINE)
_DECLARATION = re.compile(r"(.*?)(\w+)((?:\[[^\]]*\])*)", re.DOTALL)


class FormatField(NamedTuple):
    """A line of a format file: `size` bytes at `offset`; `type` as it is written there, an array's brackets at its
    end."""

    name: str
    type: str
    offset: int
    size: int
    signed: bool


def parse_format(text: str) -> tuple[FormatField, ...]:
    """The fields of an event's own in a format file, without the `common_` ones that every record begins with."""
    found = []
    for declaration, offset, size, signed in _FIELD.findall(text):
        parts = _DECLARATION.fullmatch(declaration.strip())
        if parts and not parts[2].startswith("common_"):
            spelling = parts[1].strip() + parts[3]
            found.append(FormatField(parts[2], spelling, int(offset), int(size), signed == "1"))
    return tuple(found)


class EventFormats(Protocol):
    """Trace events, whoever describes them."""

    @property
    def readable(self) -> bool:
        """Whether there are any."""

    def all(self) -> tuple[tuple[str, str], ...]:
        """(group, event) of every event that can be traced."""

    def groups_of(self, event: str) -> list[str]:
        """The groups that have an event of this name."""

    def number(self, group: str, event: str) -> int | None:
        """The event's number; None if there is no such event."""

    def format(self, group: str, event: str) -> tuple[FormatField, ...] | None:
        """The fields of the event's record, None if it cannot be read."""


class TraceEvents:
    """The events of one tracefs; without the right to read it there are none."""

    def __init__(self, root: str = "/sys/kernel/tracing") -> None:
        self._root = root
        self._groups: tuple[str, ...] | None = None
        self._all: tuple[tuple[str, str], ...] | None = None

    @property
    def readable(self) -> bool:
        return bool(self.groups())

    def groups(self) -> tuple[str, ...]:
        """The names of the groups, in tracefs's order."""
        if self._groups is None:
            self._groups = _directories(os.path.join(self._root, "events"))
        return self._groups

    def all(self) -> tuple[tuple[str, str], ...]:
        """(group, event) of every event that can be traced."""
        if self._all is None:
            try:
                events = kernel_text(os.path.join(self._root, "available_events"))
                pairs = (line.partition(":") for line in events.split())
                self._all = tuple((group, event) for group, _, event in pairs)
            except OSError:
                self._all = tuple(self._found())
        return self._all

    def _found(self) -> Iterator[tuple[str, str]]:
        """The same from the directories alone, which are what a copy of them has; slower."""
        for group in self.groups():
            names = _directories(os.path.join(self._root, "events", group))
            yield from ((group, name) for name in names if os.path.exists(self._path(group, name, "id")))

    def groups_of(self, event: str) -> list[str]:
        """The groups that have an event of this name."""
        events = os.path.join(self._root, "events")
        return [group for group in self.groups() if os.path.exists(os.path.join(events, group, event, "id"))]

    def number(self, group: str, event: str) -> int | None:
        """The event's number, as perf_event_attr.config takes it; None if there is no such event."""
        try:
            return int(read_kernel(self._path(group, event, "id")))
        except (OSError, ValueError):
            return None

    def format(self, group: str, event: str) -> tuple[FormatField, ...] | None:
        """The fields of the event's record, None if it cannot be read."""
        try:
            return parse_format(kernel_text(self._path(group, event, "format")))
        except OSError:
            return None

    def _path(self, group: str, event: str, name: str) -> str:
        return os.path.join(self._root, "events", group, event, name)


def _directories(path: str) -> tuple[str, ...]:
    """The names of the directories in one, in its order; none where it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return tuple(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return ()
