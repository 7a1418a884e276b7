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


KINDS = (
    LANGUAGE, UNSUPPORTED, UNKNOWN_VARIABLE, UNAVAILABLE, NO_TYPES, NO_SUCH_ARGUMENT, NOT_A_VALUE, NO_CODE, KEY_TYPES,
    NO_PROBE, BAD_DESCRIPTION, OWN_PROCESS, NO_PROCESS, BAD_PROCESS, BAD_PROBE_NAME, OPEN_ADDRESS, BAD_OBJECT,
    ADDRESS_IN_LIBRARY, NO_FUNCTION, OUTSIDE_FUNCTION, UNALIGNED, NOT_PROBEABLE,
) = (
    "rule of the language", "not supported", "unknown variable", "unavailable variable", "no debug information",
    "no such argument", "not a value", "function without code", "types of keys", "no such probe", "invalid description",
    "the tracer's own process", "no such process", "no process's number", "invalid probe name", "no single address",
    "invalid object", "address in a library", "no such function", "outside of the function", "within an instruction",
    "instruction that cannot be probed",
)  # fmt: skip
"""What is wrong, in terms of no language. LANGUAGE: a mistake by the rules of the language itself."""


class SourceError(Exception):
    """A user's mistake in a program: its `kind`, one of KINDS, what is wrong in plain words, and where.

    `hint` is what helps. `names` are those that may have been meant where one is not known, the likeliest first.
    `about` is what the mistake is about, in an order that the kind has, for languages that have words of their own for
    it. `tag` is the language's name for it, which its front end knows.
    """

    tag = ""

    def __init__(
        self, kind: str, text: str, position: Position | None = None, hint: str = "", names: Sequence[str] = (),
        about: tuple[object, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.position = position
        self.hint = hint
        self.names = tuple(names)
        self.about = about


class ProgramError(Exception):
    """A program that does not compile: the message in `text`, and in `hint` for people what stands below it.
    `has_lines`: the text has several lines, and quotes nothing that has not been seen to. `brief` is what people read
    in its place, where it holds a program whose lines are in the hint. `mistake`: what it is about, if the compiler
    found it, and `source` the program's text.
    """

    def __init__(
        self, text: str, hint: str = "", has_lines: bool = False, brief: str = "", mistake: SourceError | None = None,
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
