"""Methods of texts, those that D has functions for, and their parts."""

from __future__ import annotations

import ast
from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Comparison, Operation
from sonde.frontends.python.check.objects import Length, SliceOf
from sonde.frontends.python.check.signs import Choice
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.operands import computed, operands, simple
from sonde.frontends.python.lowering.values import Items
from sonde.model.errors import Position


def method(name: str, text: syntax.Expr, node: ast.Call, context: Lowering) -> syntax.Expr:
    """`text.name(...)`. Raises PythonError."""
    most, made = _METHODS.get(name, (0, None))
    if made is None:
        raise context.mistake(node, f"a text has no {name} in a probe", _KNOWN)
    if node.keywords or len(node.args) != most or any(isinstance(each, ast.Starred) for each in node.args):
        raise context.mistake(node, f"{name}() of a text takes {most} arguments in a probe, by their places", _KNOWN)
    return made(name, text, node, context)


def is_method(name: str) -> bool:
    """Whether texts of Python's have it."""
    return hasattr(str, name)


def _begins(text: syntax.Expr, part: syntax.Expr, at: Position, context: Lowering) -> syntax.Expr:
    return Comparison(at, "==", SliceOf(at, text, integer(0, at), _length(part, at)), part)


def _ends(text: syntax.Expr, part: syntax.Expr, at: Position, context: Lowering) -> syntax.Expr:
    start = Operation(at, "-", _length(text, at), _length(part, at))
    kept = simple(start, context)
    same = Comparison(at, "==", SliceOf(at, text, kept, None), part)
    return syntax.Binary(at, "&&", Comparison(at, ">=", kept, integer(0, at)), same)


def _length(text: syntax.Expr, at: Position) -> syntax.Expr:
    return integer(len(text.value), at) if isinstance(text, syntax.StringLiteral) else Length(at, text)


def _affix(name: str, text: syntax.Expr, node: ast.Call, context: Lowering) -> syntax.Expr:
    """startswith() and endswith(), of a text or one of several in a tuple."""
    at, test = context.at(node), _begins if name == "startswith" else _ends
    found = context.value(node.args[0])
    if not isinstance(found, Items):
        given = computed(found, node.args[0], context)
        return test(simple(text, context), simple(given, context), at, context)
    one = simple(text, context)
    made: syntax.Expr = integer(0, at)
    for number, each in enumerate(found.values):
        tested = test(one, computed(each, node.args[0], context), at, context)
        made = syntax.Binary(at, "||", made, tested) if number else tested
    return made


def _of_d(name: str, text: syntax.Expr, node: ast.Call, context: Lowering) -> syntax.Expr:
    at = context.at(node)
    given = operands(node.args, context)
    return syntax.Call(at, syntax.Identifier(at, _NAMES[name]), (text, *given))


_NAMES = {"find": "index", "rfind": "rindex", "lower": "tolower", "upper": "toupper"}

_METHODS: dict[str, tuple[int, Callable[[str, syntax.Expr, ast.Call, Lowering], syntax.Expr]]] = {
    "startswith": (1, _affix), "endswith": (1, _affix), "find": (1, _of_d), "rfind": (1, _of_d), "lower": (0, _of_d),
    "upper": (0, _of_d),
}  # fmt: skip
_KNOWN = "texts have startswith, endswith, find, rfind, lower and upper; for more there are D's functions"


def part_of(
    text: syntax.Expr, start: syntax.Expr | None, stop: syntax.Expr | None, at: Position, context: Lowering
) -> syntax.Expr:
    """`text[start:stop]`: an end below 0 counts from the text's own."""
    text = text if _is_known(start) and _is_known(stop) else simple(text, context)
    first = integer(0, at) if start is None else _end(start, text, at, context)
    if stop is None:
        return SliceOf(at, text, first, None)
    last = _end(stop, text, at, context)
    if isinstance(first, syntax.Integer) and isinstance(last, syntax.Integer):
        return SliceOf(at, text, first, integer(max(last.value - first.value, 0), at))
    size = simple(Operation(at, "-", last, first), context)
    return SliceOf(at, text, first, _not_below_0(size, at))


def _is_known(end: syntax.Expr | None) -> bool:
    return end is None or (isinstance(end, syntax.Integer) and end.value >= 0)


def _end(end: syntax.Expr, text: syntax.Expr, at: Position, context: Lowering) -> syntax.Expr:
    if _is_known(end):
        return end
    one = simple(end, context)
    from_end = Operation(at, "+", Length(at, text), one)
    if not isinstance(one, syntax.Integer):
        from_end_or_not = Choice(at, Comparison(at, "<", one, integer(0, at)), from_end, one)
        return simple(_not_below_0(simple(from_end_or_not, context), at), context)
    return simple(_not_below_0(simple(from_end, context), at), context)


def _not_below_0(one: syntax.Expr, at: Position) -> syntax.Expr:
    return Choice(at, Comparison(at, "<", one, integer(0, at)), integer(0, at), one)
