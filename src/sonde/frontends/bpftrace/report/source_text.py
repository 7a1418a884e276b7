"""The program's text, as messages show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.typed import NamedTuple


class BtSource(NamedTuple):
    """The file's name, the lines, and where what begins at a line and column ends."""

    name: str
    lines: Sequence[str]
    spans: Mapping[tuple[int, int], tuple[int, int]]
