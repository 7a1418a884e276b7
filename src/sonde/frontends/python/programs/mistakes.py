"""A mistake in a probe function as a message: its place, what is wrong in Python's words, the line and what helps."""

from __future__ import annotations

import re

from sonde.frontends.d.errors import DError, in_d
from sonde.frontends.d.warnings.warning import Warning
from sonde.frontends.languages import Remark
from sonde.frontends.python.errors import PythonError
from sonde.frontends.python.programs.lines import CapturedLines
from sonde.model.errors import Position, ProgramError, SourceError
from sonde.typed import NamedTuple
from sonde.visible import single_line


class _Words(NamedTuple):
    """How a message of the checker's is said in Python: a pattern, the text and the hint, "" for the checker's own."""

    pattern: str
    text: str
    hint: str = ""


_WORDS = {
    "D_IDENT_UNDEF": _Words(r"failed to resolve ([^`]\S*): Unknown variable name", "a firing has no {0}"),
    "D_VAR_UNDEF": _Words(
        r"(\S+) has not yet been declared or assigned", "no probe sets {0}", "set it in one of the functions of the run"
    ),
    "D_PRED_SCALAR": _Words(r".*", "only numbers, addresses and texts are true or false", "compare it with something"),
    "D_OP_SCALAR": _Words(r".*", "only numbers, addresses and texts are true or false", "compare it with something"),
    "D_OP_INCOMPAT": _Words(
        r'operands have incompatible types: "([^"]*)" = "([^"]*)"', "a variable of type {0} cannot take {1}",
        "a variable has one type: give the other value another variable",
    ),
    "D_CG_EXPR": _Words(
        r"\w+ function (\w+)\( \) may not .*", "{0}() has no value", "let it be a statement of its own",
    ),
    "D_AGG_REDEF": _Words(r"(?s)aggregation redefined: @(\S+).*", "{0} is used as two kinds of aggregation"),
    "D_IDENT_BADREF": _Words(r".*'([^']+)' may not be referenced as.*", "{0} needs brackets behind it, or a call"),
}  # fmt: skip


def told(error: SourceError, lines: CapturedLines) -> ProgramError:
    """The message for a mistake."""
    mistake = error if isinstance(error, PythonError) else _in_python(in_d(error))
    position = mistake.position
    if position is None:
        return ProgramError(mistake.text, mistake.hint, True, mistake=mistake)
    text, below = _placed(mistake.text, position, mistake.hint, lines)
    before = "\n" * (position.line - 1)
    return ProgramError(text, below, True, mistake=mistake, source=before + lines.line(position.file, position.line))


def warned(warning: Warning, lines: CapturedLines) -> Remark:
    """What compiles and may be meant otherwise."""
    text, below = _placed(_names(warning.text), warning.position, _names(warning.remedy), lines, "warning: ")
    return Remark(text, below)


def _placed(text: str, at: Position, hint: str, lines: CapturedLines, kind: str = "") -> tuple[str, str]:
    """The message, and what stands below it."""
    line = lines.line(at.file, at.line)
    shown = [f"  {single_line(line.strip())}", f"  {' ' * (at.column - 1 - _indent(line))}^"] if line.strip() else []
    message = f"{single_line(at.file or '')}:{at.line}:{at.column}: {kind}{text}"
    return message, "\n".join([*shown, *filter(None, [hint])])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _in_python(error: DError) -> DError:
    """A message of the checker that D shares, in Python's words."""
    words = _WORDS.get(error.tag)
    found = re.fullmatch(words.pattern, error.text) if words else None
    if words is None or found is None:
        return DError(error.tag, _names(error.text), error.position, _names(error.hint), error.names)
    text = words.text.format(*found.groups())
    return DError(error.tag, _names(text), error.position, _names(error.hint or words.hint), error.names)


_SPELLED = (
    (re.compile(r"\bself->"), "thread."),
    (re.compile(r"\bthis->"), ""),
    (re.compile(r"->"), "."),
    (re.compile(r"\( \)"), "()"),
    (re.compile(r"\[ \]"), "[]"),
    (re.compile(r"(?<![\w])@(?=\w)"), ""),
    (re.compile(r"\boperator \?:"), "a conditional expression"),
    (re.compile(r"\boperator !"), "not"),
    (re.compile(r"\boperator &&"), "and"),
    (re.compile(r"\boperator \|\|"), "or"),
    (re.compile(r"\b[\w.]+:(?=[A-Za-z_]\w*\b(?! ?:))(?=\w+ )"), ""),
)
"""D's spellings, and Python's."""


def _names(text: str) -> str:
    for pattern, spelled in _SPELLED:
        text = pattern.sub(spelled, text)
    return text
