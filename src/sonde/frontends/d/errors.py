"""Mistakes in D programs: DTrace's tag for each kind, and DTrace's words where it has words of its own."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model import errors
from sonde.model.errors import Position, SourceError
from sonde.typed import NamedTuple

SCRIPT = "failed to compile script "
"""What a message about a program in a file begins with, in front of the file's name."""


class DError(SourceError):
    """A mistake in a D program: `tag` is DTrace's name for it (`D_SYNTAX`), `text` DTrace's message without position.

    `hint` is for people: DTrace's own messages end with `text`.
    """

    def __init__(
        self, tag: str, text: str, position: Position | None = None, hint: str = "", names: Sequence[str] = ()
    ) -> None:
        super().__init__(errors.LANGUAGE, text, position, hint, names)
        self.tag = tag


class Told(NamedTuple):
    """How DTrace tells a kind of mistake: its tag, and its words about `SourceError.about`, "" for the error's own."""

    tag: str
    words: str = ""


TOLD = {
    errors.UNSUPPORTED: Told("D_UNKNOWN"),
    errors.UNKNOWN_VARIABLE: Told("D_IDENT_UNDEF", "failed to resolve {0}: Unknown variable name"),
    errors.UNAVAILABLE: Told("D_IDENT_UNDEF", "failed to resolve {0}: {1}"),
    errors.NO_TYPES: Told("D_SYM_NOTYPES", "failed to resolve {0}: {1}"),
    errors.NO_SUCH_ARGUMENT: Told("D_ARGS_IDX", "index {0} is out of range for {1} args[ ]"),
    errors.NOT_A_VALUE: Told(
        "D_CG_EXPR", "tracing function {0}( ) may not be called from a D expression (D program context required)"
    ),
    errors.NO_CODE: Told("D_FUNC_UNDEF", "unimplemented subroutine: {0}"),
    errors.KEY_TYPES: Told("D_KEY_TYPE"),
    errors.NO_PROBE: Told("D_PDESC_ZERO"),
    errors.BAD_DESCRIPTION: Told("D_PDESC_INVAL"),
    errors.OWN_PROCESS: Told("D_PROC_DYN", "process {0} is dtrace itself"),
    errors.NO_PROCESS: Told("D_PROC_GRAB", "failed to grab process {0}"),
    errors.BAD_PROCESS: Told("D_PROC_BADPID", "{0} does not contain a valid pid"),
    errors.BAD_PROBE_NAME: Told("D_PROC_NAME", "'{0}' is an invalid probe name"),
    errors.OPEN_ADDRESS: Told("D_PROC_NAME", "only individual addresses may be specified with the '-' function"),
    errors.BAD_OBJECT: Told("D_PROC_LIB"),
    errors.ADDRESS_IN_LIBRARY: Told("D_PROC_LIB", "only the a.out module is valid with the '-' function"),
    errors.NO_FUNCTION: Told("D_PROC_FUNC", "failed to lookup '{0}' in module '{1}'"),
    errors.OUTSIDE_FUNCTION: Told("D_PROC_OFF"),
    errors.UNALIGNED: Told("D_PROC_ALIGN"),
    errors.NOT_PROBEABLE: Told("D_PROC_CREATEFAIL"),
}
"""All kinds but LANGUAGE, whose errors are DErrors."""


def in_d(error: SourceError, position: Position | None = None) -> DError:
    """A mistake as DTrace tells it. `position` is for one that has none."""
    if isinstance(error, DError):
        return error if position is None else DError(error.tag, error.text, position, error.hint, error.names)
    told = TOLD[error.kind]
    # What is particular to a case is said in the case's own words, which are about nothing that the kind knows of.
    is_usual = told.words and (error.about or "{" not in told.words)
    text = told.words.format(*error.about) if is_usual else error.text
    return DError(told.tag, text, error.position or position, error.hint, error.names)
