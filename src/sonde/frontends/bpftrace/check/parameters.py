"""What stands behind a program on the command line: $1 ..., and the options that `getopt` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.bpftrace.check.conversions import constant
from sonde.frontends.bpftrace.check.scope import BtScope, Default, ProgramOption
from sonde.frontends.bpftrace.check.types import INT64, UINT64
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model import program as tree
from sonde.model.errors import ProgramError
from sonde.model.program import Expr
from sonde.model.types import BOOL, STRING
from sonde.typed import NamedTuple

SEPARATOR = "--"
"""Stands before what may be options of the program."""

_LARGEST_SIGNED = (1 << 63) - 1
_YES, _NO = ("true", "1"), ("false", "0")


class Parameters(NamedTuple):
    """`numbered` are $1 ...; `named` are the options by their names, None for one without a value."""

    numbered: tuple[str, ...]
    named: Mapping[str, str | None]


def parameters(words: Sequence[str]) -> Parameters:
    """From the words behind a program. What begins with two dashes behind `--` is an option."""
    place = words.index(SEPARATOR) if SEPARATOR in words else len(words)
    before, after = words[:place], words[place + 1 :]
    named: dict[str, str | None] = {}
    for word in after:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            named[name] = value if equals else None
    return Parameters((*before, *(word for word in after if not word.startswith("--"))), named)


def getopt(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """The value of an option of the command line. Its type is the default's, bool without one."""
    first = arguments[0]
    if not isinstance(first, nodes.StringLiteral):
        raise scope.mistake("First argument to 'getopt' must be a string literal.", first.at)
    name = first.value.decode(errors="surrogateescape")
    default: Default = False if len(arguments) == 1 else _default(arguments[1], scope)
    _remember(name, ProgramOption(default, _description(arguments, scope)), call, scope)
    return _constant(_given(name, default, scope), call, scope)


def _description(arguments: list[nodes.Expr], scope: BtScope) -> str:
    if len(arguments) < 3:
        return ""
    third = arguments[2]
    if not isinstance(third, nodes.StringLiteral):
        scope.remark("Function 'getopt' requires the third parameter to be a string literal.", third.at)
        return ""
    return third.value.decode(errors="surrogateescape")


def _default(node: nodes.Expr, scope: BtScope) -> Default:
    if isinstance(node, nodes.StringLiteral):
        return node.value
    if isinstance(node, nodes.Name) and node.name in ("true", "false"):
        return node.name == "true"
    if isinstance(node, (nodes.Number, nodes.Unary)):
        value = scope.expression(node, scope)
        if isinstance(value, tree.Const):
            return value.value
    text = "Second argument to 'getopt' must be a string literal, integer literal, or a boolean literal."
    raise scope.mistake(text, node.at)


def _remember(name: str, option: ProgramOption, call: nodes.Call, scope: BtScope) -> None:
    known = scope.known.options.get(name)
    if known is None:
        scope.known.options[name] = option
        return
    if (type(known.default), known.default) != (type(option.default), option.default):
        text = f"Command line option '{name}' needs to have the same default value in all places it is used"
        raise scope.mistake(f"{text}. Previous default value: {_spelled(known.default)}", call.at)
    if option.text and known.text and option.text != known.text:
        text = f"Command line option '{name}' must have the same description in all places it's used"
        raise scope.mistake(f"{text}. Hint: You can wrap it in a macro", call.at)
    scope.known.options[name] = known._replace(text=known.text or option.text)


def _spelled(value: Default) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value).lower()


def _given(name: str, default: Default, scope: BtScope) -> Default:
    """The option's value, of the default's type."""
    if name not in scope.options:
        return default
    text = scope.options[name]
    if isinstance(default, bool):
        if text is not None and text not in (*_YES, *_NO):
            raise _wrong(name, "expects a boolean (e.g. 'true')", text)
        return text is None or text in _YES
    if text is None:
        raise _wrong(name, "expects a string" if isinstance(default, bytes) else "expects an integer", "true")
    if isinstance(default, bytes):
        return text.encode(errors="surrogateescape")
    value = integer_of(text)
    if value is None:
        raise _wrong(name, "invalid integer", text)
    return value


def _wrong(name: str, what: str, value: str) -> ProgramError:
    return ProgramError(f"ERROR: program command line option --{name} {what} (value: {value})")


def _constant(value: Default, call: nodes.Call, scope: BtScope) -> Expr:
    at = scope.at(call.at)
    if isinstance(value, bool):
        return tree.Const(BOOL, at, int(value))
    if isinstance(value, bytes):
        return tree.StringConst(STRING, at, value)
    return constant(value, at, INT64 if value <= _LARGEST_SIGNED else UINT64)


def require_known(given: Mapping[str, str | None], known: Mapping[str, ProgramOption]) -> None:
    """Raises ProgramError for options that the program does not read; --help is one of these, and tells of all."""
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    wrong = ", ".join(f"--{name}" for name in unknown if name != "help")
    text = f"ERROR: unexpected program command line options: {wrong}" if wrong else ""
    raise ProgramError(text, _expected(known, "help" in unknown))


def _expected(known: Mapping[str, ProgramOption], is_long: bool) -> str:
    if not known:
        return "no custom program options defined."
    if not is_long:
        return f"expected program options: {', '.join(f'--{name}' for name in known)}"
    rows = (f"--{name}: {each.text}" if each.text else f"--{name}" for name, each in known.items())
    return "expected program options:\n" + "\n".join(rows)


VALUES: dict[str, ValueCall] = {
    "getopt": ValueCall(1, 3, getopt),
}
