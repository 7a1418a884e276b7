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
    is counted for a set never falls; those that come behind them are `OTHER`, and how many of these there are is
    `merged`."""

    def __init__(self, labels: int, most: int, texts: Texts) -> None:
        """`texts` gives the text of each part of a key."""
        self._other: LabelSet = (OTHER,) * labels
        self._most = most
        self._texts = texts
        self._known: dict[Key, LabelSet] = {}
        self._sets: set[LabelSet] = set()
        self._beyond: set[Key] = set()

    @property
    def merged(self) -> int:
        """How many keys share a set because there was no more room."""
        return len(self._beyond)

    def grouped(self, rows: Mapping[Key, _Value], add: Callable[[_Value, _Value], _Value]) -> dict[LabelSet, _Value]:
        """The values of the label sets; those of one set are added."""
        found: dict[LabelSet, _Value] = {}
        known = self._known
        for key, value in rows.items():
            labels = known.get(key) or self._labels(key)
            earlier = found.get(labels)
            found[labels] = value if earlier is None else add(earlier, value)
        return found

    def _labels(self, key: Key) -> LabelSet:
        if not key:
            return ()
        if key in self._beyond:
            return self._other
        made = tuple(self._texts(key))
        if made not in self._sets and len(self._sets) >= self._most:
            self._beyond.add(key)
            return self._other
        self._sets.add(made)
        self._known[key] = made
        return made
