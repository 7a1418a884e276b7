"""The label sets of one metric: a bounded number of them, behind which all others are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.library.aggregations import Key
from sonde.typed import TypeAlias, TypeVar

OTHER = "(other)"
"""The value of all labels of what the bound has left no room for."""

LabelSet: TypeAlias = tuple[str, ...]
Texts = Callable[[Key], Sequence[str]]

_Value = TypeVar("_Value")


class LabelSets:
    """Gives each key its label set. The first `most` that come have their own as long as the run lasts, so that what
    is counted for a set never falls; those that come behind them are `OTHER`, and `merged` is how many keys of the last
    look these were."""

    def __init__(self, labels: int, most: int, texts: Texts) -> None:
        """`texts` gives the text of each part of a key."""
        self._other: LabelSet = (OTHER,) * labels
        self._most = most
        self._texts = texts
        self._known: dict[Key, LabelSet] = {}
        """Of the keys of the last look."""
        self._first: dict[LabelSet, Key] = {}
        """The first key of each set."""
        self._own = 0
        self.merged = 0

    def grouped(self, rows: Mapping[Key, _Value], add: Callable[[_Value, _Value], _Value]) -> dict[LabelSet, _Value]:
        """The values of the label sets; those of one set are added."""
        found: dict[LabelSet, _Value] = {}
        before, known = self._known, {}
        for key, value in rows.items():
            labels = known[key] = before.get(key) or self._labels(key)
            earlier = found.get(labels)
            found[labels] = value if earlier is None else add(earlier, value)
        self._known = known
        self.merged = sum(each is self._other for each in known.values()) if self._own >= self._most else 0
        return found

    def kept_as(self, key: Key) -> Key:
        """The first key that has the same label set: one for each is enough to keep what was counted."""
        return self._first[self._known.get(key) or self._labels(key)]

    def _labels(self, key: Key) -> LabelSet:
        made = tuple(self._texts(key)) if key else ()
        if made not in self._first:
            if key and self._own >= self._most:
                made = self._other
            else:
                self._own += bool(key)
            self._first.setdefault(made, key)
        return self._other if made == self._other and key else made
