"""What a histogram has counted in each stretch of time: the columns of a heat map."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.consume.store import Key
from sonde.model.aggregation_words import Words, signed
from sonde.typed import NamedTuple

MOST_COLUMNS = 1000
"""Of more columns two neighbours each become one, and looks are half as frequent from then on."""

MOST_KEYS = 40
"""So many keys of an aggregation are kept apart, those that count most; the others are added up."""

Cells = dict[tuple[int, int], int]
"""Counts by column and bucket, where they are not 0."""


class Heat(NamedTuple):
    """Column n is from `edges[n]` to `edges[n + 1]`, in ns since tracing began. `others`: the keys not kept apart.

    `taken_back` is what was counted with negative increments.
    """

    edges: tuple[int, ...]
    keys: dict[Key, Cells]
    others: Cells
    taken_back: int

    @property
    def total(self) -> int:
        return sum(sum(cells.values()) for cells in (*self.keys.values(), self.others))


class Columns:
    """Made of looks at an aggregation that only grows, one after the other; the first begins the first column."""

    def __init__(self, most_columns: int = MOST_COLUMNS, most_keys: int = MOST_KEYS) -> None:
        self._most_columns = max(most_columns, 2)
        self._most_keys = most_keys
        self._edges: list[int] = []
        self._seen: Mapping[Key, Words] = {}
        self._keys: dict[Key, Cells] = {}
        self._totals: dict[Key, int] = {}
        self._others: Cells = {}
        self._folded: set[Key] = set()
        self._taken_back = 0

    def look(self, now: int, counted: Mapping[Key, Words]) -> bool:
        """Take a look at what was counted by `now`; whether looks ought to be half as frequent from here on."""
        if self._edges:
            column = len(self._edges) - 1
            for key, words in counted.items():
                before = self._seen.get(key)
                if words is not before and words != before:
                    self._count(column, key, words, before or (0,) * len(words))
        self._seen = counted
        self._edges.append(now)
        self._fold_keys()
        if len(self._edges) - 1 <= self._most_columns:
            return False
        self._join({column: column // 2 for column in range(len(self._edges) - 1)})
        return True

    def _count(self, column: int, key: Key, words: Words, before: Words) -> None:
        cells = self._others if key in self._folded else self._keys.setdefault(key, {})
        for bucket, (new, old) in enumerate(zip(words, before, strict=True)):
            if new == old:
                continue
            number = signed((new - old) & 0xFFFF_FFFF_FFFF_FFFF)
            if number < 0:
                self._taken_back -= number
                continue
            place = column, bucket
            cells[place] = cells.get(place, 0) + number
            self._totals[key] = self._totals.get(key, 0) + number

    def _fold_keys(self) -> None:
        """Add up the keys that count least. Twice as many as are wanted stay, since those that come late grow too."""
        if len(self._keys) > 2 * self._most_keys:
            self._fold_all_but(self._most_keys)

    def _fold_all_but(self, most: int) -> None:
        for key in sorted(self._keys, key=lambda key: -self._totals.get(key, 0))[most:]:
            self._folded.add(key)
            _add(self._others, self._keys.pop(key))

    def _join(self, column_of: dict[int, int]) -> None:
        """Let columns be parts of others; the numbers ascend."""
        edges = [edge for column, edge in enumerate(self._edges[:-1]) if column_of.get(column - 1) != column_of[column]]
        self._edges = [*edges, self._edges[-1]]
        self._keys = {key: _moved(cells, column_of) for key, cells in self._keys.items()}
        self._others = _moved(self._others, column_of)

    def finished(self) -> Heat:
        """All columns. The last, where it is less than half as long as the one before, is a part of that."""
        columns = len(self._edges) - 1
        if columns > 1 and 2 * (self._edges[-1] - self._edges[-2]) < self._edges[-2] - self._edges[-3]:
            self._join({column: min(column, columns - 2) for column in range(columns)})
        self._fold_all_but(self._most_keys)
        ordered = sorted(self._keys, key=lambda key: -self._totals.get(key, 0))
        kept = {key: self._keys[key] for key in ordered if self._keys[key]}
        return Heat(tuple(self._edges), kept, self._others, self._taken_back)


def _moved(cells: Cells, column_of: dict[int, int]) -> Cells:
    found: Cells = {}
    for (column, bucket), number in cells.items():
        place = column_of[column], bucket
        found[place] = found.get(place, 0) + number
    return found


def _add(cells: Cells, more: Cells) -> None:
    for place, number in more.items():
        cells[place] = cells.get(place, 0) + number


def everything(heat: Heat) -> Cells:
    """The cells of all keys added up."""
    total: Cells = {}
    for cells in (*heat.keys.values(), heat.others):
        _add(total, cells)
    return total
