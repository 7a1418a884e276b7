"""Where something stands in a source, and what a user's mistake raises: as the compiler finds it, and in words."""

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


class ProgramError(Exception):
    """A program that does not compile: dtrace's message in `text`, and in `hint` for people what stands below it.
    `has_lines`: the text has several lines, and quotes nothing that has not been seen to. `brief` is what people read
    in its place, where it holds a program whose lines are in the hint. `mistake`: what it is about, if the compiler
    found it, and `source` the program's text.
    """

    def __init__(
        self, text: str, hint: str = "", has_lines: bool = False, brief: str = "", mistake: DError | None = None,
        source: str = "",
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.text = text
        self.hint = hint
        self.has_lines = has_lines
        self.brief = brief
        self.mistake = mistake
        self.source = source


class EngineError(Exception):
    """The engine could not do it: what failed, why and what would help, in words for the user.

    `log` is the end of the verifier's log where a program was refused, `place` the D position ("file:line") of the
    instruction it refused.
    """

    def __init__(self, text: str, log: str = "", place: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.log = log
        self.place = place


class AbortedError(EngineError):
    """Tracing had begun and cannot go on."""
