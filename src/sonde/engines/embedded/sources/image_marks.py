"""What each process executes at a point of a recording, by what happened up to there: frames are named later, and by
then it may have executed another program."""

from __future__ import annotations

from sonde.symbols.images import mark_in, mark_of
from sonde.symbols.mappings import VDSO
from sonde.symbols.process_events import Executed, Forked, Mapped, MappingsSnapshot, ProcessEvent

_MOST = 1 << 16
"""Processes that are remembered: the last ones that were told of."""


class ImageMarks:
    """The marks of `symbols/images.py`, by process."""

    def __init__(self) -> None:
        self._of: dict[int, int] = {}

    def of(self, pid: int) -> int:
        """0 where it is not known."""
        return self._of.get(pid, 0)

    def take(self, event: ProcessEvent) -> None:
        """What has happened next."""
        match event:
            case Mapped(_, pid, mapping):
                if mapping.path == VDSO:
                    self._set(pid, mark_of(mapping.start))
            case Executed(_, pid):
                self._of.pop(pid, None)
            case Forked(_, pid, parent):
                self._set(pid, self.of(parent))
            case MappingsSnapshot(_, pid, mark, mappings):
                self._set(pid, mark or mark_in(mappings))

    def _set(self, pid: int, mark: int) -> None:
        self._of.pop(pid, None)
        self._of[pid] = mark
        if len(self._of) > _MOST:
            del self._of[next(iter(self._of))]
