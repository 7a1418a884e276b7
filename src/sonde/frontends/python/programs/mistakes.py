"""A mistake in a probe function as a message: its place, what is wrong in Python's words, the line and what helps."""

from __future__ import annotations

import re

from sonde.frontends.d.errors import DError, in_d
from sonde.frontends.d.warnings.warning import Warning
from sonde.frontends.languages import Remark
from sonde.frontends.python.captured import SHARED
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


_TRUTHS = _Words(r".*", "only numbers, addresses and texts are true or false", "compare it with something")

_WORDS = {
    "D_IDENT_UNDEF": (
        _Words(
            r"failed to resolve @(\S+): Unknown variable name", "no probe counts in {0}",
            "use add() in one of the functions of the run",
        ),
        _Words(r"failed to resolve ([^`]\S*): Unknown variable name", "a firing has no {0}"),
    ),
    "D_VAR_UNDEF": (
        _Words(
            r"(\S+) has not yet been declared or assigned", "no probe sets {0}",
            "set it in one of the functions of the run",
        ),
    ),
    "D_PRED_SCALAR": (_TRUTHS,),
    "D_OP_SCALAR": (_TRUTHS,),
    "D_OP_INCOMPAT": (
        _Words(
            r'operands have incompatible types: "scalar" = "([^"]*)"', "no variable can keep {0}",
            "take one of its members",
        ),
        _Words(
            r'operands have incompatible types: "([^"]*)" = "([^"]*)"', "a variable of type {0} cannot take {1}",
            "a variable has one type: give the other value another variable",
        ),
        _Words(
            r'operands have incompatible types: "([^"]*)" (\S+) "([^"]*)"', "{1} is not for {0} and {2}",
            "int(text) and str(number) convert, and u64(address)",
        ),
        _Words(
            r"operator \?: operands must have compatible types", "the values to choose from are of two kinds",
            "int(text) and str(number) convert, and u64(address)",
        ),
    ),
    "D_CG_EXPR": (
        _Words(r"\w+ function (\w+)\( \) may not .*", "{0}() has no value", "let it be a statement of its own"),
    ),
    "D_AGG_REDEF": (_Words(r"(?s)aggregation redefined: @(\S+).*", "{0} is used as two kinds of aggregation"),),
    "D_IDENT_BADREF": (_Words(r".*'([^']+)' may not be referenced as.*", "{0} needs brackets behind it, or a call"),),
    "D_PROTO_LEN": (
        _Words(
            r"(\S+)\( \) prototype mismatch: (\d+) args? passed, (.*) expected",
            "{0}() takes {2} arguments, not {1}",
        ),
        _Words(
            r"(\S+)\[ \] prototype mismatch: (\d+) keys? passed, (.*) expected",
            "{0} has keys of {2} parts, not of {1}",
            "all keys have as many parts, of the same types",
        ),
    ),
    "D_PROTO_ARG": (
        _Words(
            r"(?s)(\S+)\( \) argument #(\d+) .*prototype: ([^\n]*)\n\s*argument: (.*)",
            "argument {1} of {0}() is of type {3}, and has to be {2}",
        ),
        _Words(
            r"(?s)(\S+)\[ \] key #(\d+) .*prototype: ([^\n]*)\n\s*key: (.*)",
            "part {1} of a key of {0} is of type {3}, and of {2} elsewhere",
            "all keys have as many parts, of the same types",
        ),
        _Words(
            r"(?s)(\S+)\[ \] argument #1 .*prototype: ([^\n]*)\n\s*argument: (.*)",
            "{0}[] takes a constant number, not {2}", "write if and elif for several",
        ),
    ),
    "D_OP_SOU": (
        _Words(r'operator (?:\.|->) cannot be applied to (?:pointer to )?type "([^"]*)".*', "{0} has no members"),
    ),
    "D_CAST_INVAL": (
        _Words(r'invalid cast expression: "([^"]*)" to "([^"]*)"', "no {0} becomes {1}", "int(text) reads its digits"),
    ),
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
    for words in _WORDS.get(error.tag, ()):
        found = re.fullmatch(words.pattern, error.text)
        if found is not None:
            text = words.text.format(*found.groups())
            return DError(error.tag, _names(text), error.position, _names(error.hint or words.hint), error.names)
    return DError(error.tag, _names(error.text), error.position, _names(error.hint), error.names)


_SPELLED = (
    (re.compile(r"\bself->"), "thread."),
    (re.compile(r"\bthis->"), ""),
    (re.compile(rf"[\w.]+{SHARED}(?=\w)"), ""),
    (re.compile(r"->"), "."),
    (re.compile(r"\( \)"), "()"),
    (re.compile(r"\[ \]"), "[]"),
    (re.compile(r"(?<![\w])@(?=\w)"), ""),
    (re.compile(r"\boperator \?:"), "a conditional expression"),
    (re.compile(r"\boperator !"), "not"),
    (re.compile(r"\boperator &&"), "and"),
    (re.compile(r"\boperator \|\|"), "or"),
)
"""D's spellings, and Python's."""


def _names(text: str) -> str:
    for pattern, spelled in _SPELLED:
        text = pattern.sub(spelled, text)
    return text
