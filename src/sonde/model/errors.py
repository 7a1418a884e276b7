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


# Kinds of mistakes, in terms of no language: what is wrong and, where it says so, what `SourceError.about` has.

LANGUAGE = "against a rule of the language itself"
UNSUPPORTED = "not supported"
UNKNOWN_VARIABLE = "no such variable of the probed program"
"""The variable and its probe, in one text."""

UNAVAILABLE = "variable that cannot be had"
"""The variable and its probe, in one text; why."""

NO_TYPES = "no debug information"
"""As UNAVAILABLE."""

NO_SUCH_ARGUMENT = "no such argument"
"""Its number; the probe."""

NOT_A_VALUE = "nothing to compute with"
"""The function that was called for a value."""

NO_CODE = "function without code"
"""The function."""

KEY_TYPES = "types of keys"
NO_PROBE = "no such probe"
BAD_DESCRIPTION = "invalid description of probes"
OWN_PROCESS = "the tracer's own process"
"""Its number, as of NO_PROCESS."""

NO_PROCESS = "process that cannot be traced"
BAD_PROCESS = "not the number of a process"
"""What was written."""

BAD_PROBE_NAME = "invalid name of a probe in a function"
"""The name."""

OPEN_ADDRESS = "address that is not given"
BAD_OBJECT = "invalid object of a process"
ADDRESS_IN_LIBRARY = "address outside of the program"
NO_FUNCTION = "no such function"
"""The function, or a place in a source; the object."""

OUTSIDE_FUNCTION = "place outside of its function"
UNALIGNED = "place within an instruction"
NOT_PROBEABLE = "place that cannot be probed"


class SourceError(Exception):
    """A user's mistake in a program: its `kind`, one of those above, what is wrong in plain words, and where.

    `hint` is what helps. `names` are those that may have been meant where one is not known, the likeliest first.
    `about` is what the mistake is about, for languages that have words of their own for its kind. `tag` is the
    language's name for it, which its front end knows.
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


class CannotShowError(Exception):
    """A sink has no form for an event. The text, `X cannot show Y`, names both; `remedy` is what shows it."""

    def __init__(self, sink: str, what: str, remedy: str = "") -> None:
        super().__init__(f"{sink} cannot show {what}")
        self.remedy = remedy
