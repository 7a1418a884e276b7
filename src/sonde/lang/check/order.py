"""What may follow what in a clause that commits or speculates."""

from __future__ import annotations

from sonde.lang.errors import DError, Position

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
    """The kinds of action one clause has had so far.

    The kinds are `recording`, `aggregating`, `destructive`, `exit`, `speculate` and `commit`; a destructive action
    that also records data is noted as both.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def note(self, kind: str, position: Position) -> None:
        """Add an action of that kind, or raise if it may not stand here."""
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
