"""Where something stands in a D source, and the one exception a user's mistake raises."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.typed import NamedTuple


class Position(NamedTuple):
    """A place in a source: `file` is None for a program given on the command line; line and column count from 1.

    `line_directive` tells that a `# line` directive set the line, which changes how messages name it.
    """

    file: str | None
    line: int
    column: int
    line_directive: bool = False


class DError(Exception):
    """A mistake in a D program: `tag` is DTrace's name for it (`D_SYNTAX`), `text` the message without position.

    `hint` is what helps, for people: DTrace's own messages end with `text`. `names` are those that may have been
    meant where one is not known, the likeliest first.
    """

    def __init__(
        self, tag: str, text: str, position: Position | None = None, hint: str = "", names: Sequence[str] = ()
    ) -> None:
        super().__init__(text)
        self.tag = tag
        self.text = text
        self.position = position
        self.hint = hint
        self.names = tuple(names)
