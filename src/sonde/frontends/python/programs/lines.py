"""The lines of the files that functions are from, as far as they were captured."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.frontends.python.captured import CapturedFunction
from sonde.model.errors import Position


class CapturedLines:
    """The lines of each file by their numbers."""

    def __init__(self, functions: Iterable[CapturedFunction]) -> None:
        self._files: dict[str, dict[int, str]] = {}
        for each in functions:
            known = self._files.setdefault(each.file, {})
            known.update(enumerate(each.source.split("\n"), each.line))

    def has(self, position: Position | None) -> bool:
        """Whether a place is in one of the functions."""
        return position is not None and position.line in self._files.get(position.file or "", {})

    def line(self, file: str | None, number: int) -> str:
        return self._files.get(file or "", {}).get(number, "")

    def by_file(self) -> dict[str | None, list[str]]:
        """All lines up to the last that is known; others are empty."""
        return {file: [known.get(n, "") for n in range(1, max(known) + 1)] for file, known in self._files.items()}
