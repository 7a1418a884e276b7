"""What may follow what in a clause that commits or speculates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sonde.frontends.d.errors import DError
from sonde.model.errors import Position

_AFTER_SPECULATE = {
    "aggregating": ("D_AGG_SPEC", "aggregating actions may not follow speculate( )"),
    "destructive": ("D_ACT_SPEC", "destructive actions may not follow speculate( )"),
    "exit": ("D_EXIT_SPEC", "exit( ) may not follow speculate( )"),
    "speculate": ("D_SPEC_SPEC", "speculate( ) may not follow speculate( )"),
}
_AFTER_COMMIT = {
    "aggregating": ("D_AGG_COMM", "aggregating actions may not follow commit( )"),
    "recording": ("D_DREC_COMM", "data-recording actions may not follow commit( )"),
    "speculate": ("D_SPEC_COMM", "speculate( ) may not follow commit( )"),
}
_AFTER_DATA = {
    "commit": ("D_COMM_DREC", "commit( ) may not follow data-recording action(s)"),
    "speculate": ("D_SPEC_DREC", "speculate( ) may not follow data-recording action(s)"),
}


class ActionOrder:
    """The kinds of action one clause has had so far, on any of the ways to the present statement.

    The kinds are `recording`, `aggregating`, `destructive`, `exit`, `speculate` and `commit`; a destructive action
    that also records data is noted as both.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._noted: list[tuple[str, Position]] = []

    def note(self, kind: str, position: Position) -> None:
        """Add an action of that kind, or raise if it may not stand here."""
        self._noted.append((kind, position))
        for earlier, rules in (
            ("speculate", _AFTER_SPECULATE),
            ("commit", _AFTER_COMMIT),
            ("recording", _AFTER_DATA),
            ("aggregating", _AFTER_DATA),
        ):
            if earlier in self._seen and kind in rules:
                tag, text = rules[kind]
                raise DError(tag, text, position)
        self._seen.add(kind)

    @contextmanager
    def looping(self) -> Iterator[None]:
        """The actions noted in the `with` block may each come behind all of them."""
        start = len(self._noted)
        yield
        for kind, position in self._noted[start:]:
            self.note(kind, position)

    def branches(self, *branches: Callable[[], None]) -> None:
        """Note what one of these notes: none of them comes behind another."""
        before, after = self._seen, set()
        for branch in branches:
            self._seen = set(before)
            branch()
            after |= self._seen
        self._seen = after
