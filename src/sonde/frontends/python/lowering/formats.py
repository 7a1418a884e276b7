"""print() and f-strings: texts and values, with Python's formats in the form that records have."""

from __future__ import annotations

import ast
import re

from sonde.frontends.d import syntax
from sonde.frontends.python.check.lines import Joined, PrintedLine, ShownPart
from sonde.frontends.python.lowering.context import Lowering
from sonde.frontends.python.lowering.operands import computed, expression, name_of
from sonde.frontends.python.lowering.values import Items, Value

_SPECIFICATION = re.compile(
    r"(?P<align>[<>])?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?(?P<width>[0-9]+)?(?P<comma>,)?"
    r"(?:\.(?P<precision>[0-9]+))?(?P<letter>[dxXosc])?"
)
_FORMS = "formats of a probe: {n:8}, {n:<8}, {n:08d}, {n:+}, {n:,}, {n:#x}, {n:o}, {s:>12}, {s:.5}"


def printed(node: ast.Call, context: Lowering) -> None:
    """`print(...)` as a statement: a record."""
    named = {each.arg: each.value for each in node.keywords}
    separator, end = _constant(named.pop("sep", None), " ", context), _constant(named.pop("end", None), "\n", context)
    if named:
        hint = "sep and end are known; the run's output goes where `output` says"
        raise context.mistake(node, f"print() of a probe has no {next(iter(named)) or '**'}", hint)
    parts: list[str | ShownPart] = []
    names: list[str] = []
    for number, each in enumerate(node.args):
        if number:
            parts.append(separator)
        _add(each, parts, names, context)
    is_alone = len(node.args) == 1 and not isinstance(node.args[0], ast.JoinedStr)
    _record(node, parts, end, names, is_alone, context)


def recorded(node: ast.JoinedStr, context: Lowering) -> None:
    """An f-string that stands alone: the same record."""
    parts: list[str | ShownPart] = []
    names: list[str] = []
    _add(node, parts, names, context)
    _record(node, parts, "\n", names, False, context)


def joined(node: ast.JoinedStr, context: Lowering) -> Value:
    """An f-string that is a value."""
    parts: list[str | ShownPart] = []
    _add(node, parts, [], context)
    return Joined(context.at(node), tuple(parts))


def _record(
    node: ast.expr, parts: list[str | ShownPart], end: str, names: list[str], alone: bool, context: Lowering
) -> None:
    at = context.at(node)
    text = "".join(each for each in parts if isinstance(each, str))
    if "\0" in text or "\0" in end:
        raise context.mistake(node, "a text of a program ends before its first NUL", "leave the NUL out")
    parts = [each for each in (*parts, end) if each != ""]
    if not parts:
        raise context.mistake(node, "this records nothing", "leave the end of the line in: print()")
    context.run(PrintedLine(at, tuple(parts), alone), tuple(names))


def _constant(node: ast.expr | None, default: str, context: Lowering) -> str:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return default
    found = expression(node, context)
    if not isinstance(found, syntax.StringLiteral):
        raise context.mistake(node, "sep and end of print() are constant texts", "print the text as a value")
    return found.value.decode("utf-8", "surrogateescape")


def _add(node: ast.expr, parts: list[str | ShownPart], names: list[str], context: Lowering) -> None:
    """A value of a line, or the parts of an f-string."""
    if isinstance(node, ast.JoinedStr):
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                _formatted(each, parts, names, context)
            else:
                _add(each, parts, names, context)
        return
    before = len(context.out)
    found = context.value(node)
    if isinstance(found, Items):
        hint = "print its items one by one"
        raise context.mistake(node, "a tuple is no value of a record", hint)
    e = computed(found, node, context)
    if len(context.out) > before:
        _keep_before(before, parts, context)
    if isinstance(e, syntax.StringLiteral) and isinstance(node, ast.Constant):
        # What is written there is text; a constant that has a name is a value.
        parts.append(e.value.decode("utf-8", "surrogateescape"))
        return
    parts.append(ShownPart(e.position, e))
    names.append(name_of(node, context))


def _keep_before(before: int, parts: list[str | ShownPart], context: Lowering) -> None:
    """The values so far are those of before what the next one does."""
    with context.block() as first:
        parts[:] = [each if isinstance(each, str) else each._replace(value=context.kept(each.value)) for each in parts]
    context.out[before:before] = first


def _formatted(node: ast.FormattedValue, parts: list[str | ShownPart], names: list[str], context: Lowering) -> None:
    _add(node.value, parts, names, context)
    last = parts[-1]
    specification = _specification(node, context)
    if isinstance(last, str):
        if specification or node.conversion == ord("r"):
            text = repr(last) if node.conversion == ord("r") else last
            parts[-1] = _formatted_now(text, specification, node, context)
        return
    if node.conversion not in (-1, ord("s"), ord("r")):
        raise context.mistake(node, "!a is not for probes", "leave it out")
    found = _SPECIFICATION.fullmatch(specification)
    if found is None:
        raise context.mistake(node, f"'{specification}' is no format of a probe", _FORMS)
    given = {name: text or "" for name, text in found.groupdict().items()}
    flags = given["sign"].strip("-") + given["alternate"] + given["zero"] + given["comma"]
    parts[-1] = last._replace(
        flags=flags, align=given["align"], width=given["width"], precision=given["precision"], letter=given["letter"],
        quoted=node.conversion == ord("r"), converted=node.conversion != -1,
    )  # fmt: skip


def _formatted_now(text: str, specification: str, node: ast.FormattedValue, context: Lowering) -> str:
    """A text that is known now."""
    try:
        return format(text, specification)
    except ValueError:
        raise context.mistake(node, f"'{specification}' is no format of a text", "{s:<8} is for texts") from None


def _specification(node: ast.FormattedValue, context: Lowering) -> str:
    """The text behind the colon, in which constants may stand in braces."""
    text = ""
    for each in node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else ():
        inner = expression(each.value if isinstance(each, ast.FormattedValue) else each, context)
        if isinstance(inner, syntax.Integer):
            text += str(inner.value)
        elif isinstance(inner, syntax.StringLiteral):
            text += inner.value.decode(errors="replace")
        else:
            raise context.mistake(node, "a format is constant", "write the width as a number")
    return text
