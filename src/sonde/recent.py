"""Answers that are kept, up to a number of them: those that were asked for lately stay."""

from __future__ import annotations

from sonde.typed import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """At most `most` answers by their keys. They are in two halves: as soon as the new one is full the old one is given
    up and the new one is the old one; what is found in the old one moves to the new one. So nothing has to be kept in
    order, and there is no moment at which all is forgotten."""

    __slots__ = ("_half", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._new: dict[_Key, _Value] = {}
        self._old: dict[_Key, _Value] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def get(self, key: _Key) -> _Value | None:
        """The answer, None if there is none."""
        found = self._new.get(key)
        if found is None and (found := self._old.pop(key, None)) is not None:
            self.put(key, found)
        return found

    def put(self, key: _Key, answer: _Value) -> _Value:
        """Keep an answer other than None; it is returned."""
        if len(self._new) >= self._half:
            self._old, self._new = self._new, {}
        self._new[key] = answer
        return answer

    def clear(self) -> None:
        """Give up all answers."""
        self._new.clear()
        self._old.clear()
