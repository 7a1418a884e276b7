"""Formats of printf() and its kin."""

from __future__ import annotations

import re

from sonde.frontends.bpftrace.check.called_types import called
from sonde.frontends.bpftrace.check.conversions import string, wide
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.shown_numbers import flags_of, is_made_text, is_shown, noted, plain
from sonde.frontends.bpftrace.check.types import base_name, is_integer, is_object, is_of, is_scalar, is_text
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import MOST_COLUMNS, Conversion
from sonde.model.program import Expr

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?:\*|(?P<width>\d*))(?:\.(?:\*|(?P<precision>\d*)))?"
    r"(?P<letters>r[xh]?|gr|(?:hh|h|ll|l|j|z|t)?[a-zA-Z]|%)"
)
_INTEGERS = frozenset("diuxXopc")
_OF_BYTES = ("r", "rx", "rh")
_OF_FRACTIONS = frozenset("eEfFgGaAn")
_OF_FLAGS = "gr"
"""Flags of allocations of memory, gfp_t, by their names."""


def conversions(text: bytes, span: SourceSpan, scope: BtScope) -> tuple[Conversion, ...]:
    """The pieces of a format."""
    format_ = text.decode(errors="surrogateescape")
    found, literal, start = [], "", 0
    while (percent := format_.find("%", start)) >= 0:
        literal += format_[start:percent]
        match = _CONVERSION.match(format_, percent)
        if match is None or not _is_known(match["letters"]):
            if match is not None and match["letters"][-1] in _OF_FRACTIONS:
                raise scope.mistake(f"unsupported format specifier: {match['letters'][-1]}", scope.call or span)
            # It stands for itself.
            literal, start = literal + "%", percent + 1
            continue
        start = match.end()
        if match["letters"] == "%":
            literal += "%"
            continue
        width = _columns(match["width"], span, scope) if match["width"] else None
        precision = None if match["precision"] is None else _columns(match["precision"] or "0", span, scope)
        found.append(Conversion(literal, match["flags"], width, precision, match["letters"], percent))
        literal = ""
    literal += format_[start:]
    if literal:
        found.append(Conversion(literal, offset=len(format_)))
    return tuple(found)


def _columns(digits: str, span: SourceSpan, scope: BtScope) -> int:
    """A width or precision. Raises BtError."""
    if len(digits) > len(str(MOST_COLUMNS)) or int(digits) > MOST_COLUMNS:
        raise scope.mistake(f"a width or precision is {MOST_COLUMNS} at most", scope.call or span)
    return int(digits)


def _is_known(letters: str) -> bool:
    return letters == "%" or letters in _OF_BYTES or letters == _OF_FLAGS or letters[-1] in "diuxXopcs"


def formatted(call: nodes.Call, scope: BtScope) -> tuple[tuple[Conversion, ...], tuple[Expr, ...]]:
    """The format that a call begins with, and the values that it shows."""
    first = scope.expression(_expression(call.arguments[0], scope), scope) if call.arguments else None
    if not call.arguments:
        raise scope.mistake(f"{call.name}() requires at least one argument (0 provided)", call.at)
    if not isinstance(first, tree.StringConst):
        assert first is not None
        raise scope.mistake(f"{call.name}() expects a string literal ({base_name(first.type)} provided)", call.at)
    shown_whole(call.arguments[0], scope)
    pieces = conversions(first.value, call.arguments[0].at, scope)
    letters = [each.letters for each in pieces if each.letters]
    rest = call.arguments[1:]
    if len(letters) != len(rest):
        few = "not enough" if len(letters) > len(rest) else "too many"
        raise scope.mistake(
            f"{few} arguments for format string ({len(rest)} supplied, {len(letters)} expected)", call.at
        )
    values = [_value(each, letter, call.name, scope) for each, letter in zip(rest, letters, strict=True)]
    return pieces, tuple(values)


def shown_whole(node: nodes.Expr | nodes.TypeName, scope: BtScope) -> None:
    """Literals that are shown are not cut: nothing is to be remarked of them."""
    if isinstance(node, nodes.StringLiteral):
        scope.take_back(node.at)
    elif isinstance(node, nodes.Ternary):
        for each in (node.then, node.otherwise):
            if each is not None:
                shown_whole(each, scope)


def _expression(node: nodes.Expr | nodes.TypeName, scope: BtScope) -> nodes.Expr:
    if isinstance(node, nodes.TypeName):
        raise scope.mistake("a type is no value", node.at)
    return node


def _value(node: nodes.Expr | nodes.TypeName, letters: str, name: str, scope: BtScope) -> Expr:
    e = scope.expression(_expression(node, scope), scope)
    if letters in _OF_BYTES and is_of(e.type, ("buffer",)):
        return e
    if letters == _OF_FLAGS and is_integer(e.type):
        return noted(flags_of(e))
    if letters[-1] in _INTEGERS and letters not in _OF_BYTES and is_scalar(e.type) and not is_made_text(e):
        return wide(e)
    if letters[-1] == "s" and is_scalar(e.type):
        return noted(e if is_shown(e) else plain(e))
    if letters[-1] == "s" and is_text(e.type):
        shown_whole(node, scope)
        return string(e)
    if letters[-1] == "s" and is_object(e.type):
        return e
    text = f"unsupported format specifier for type '{called(e, scope)}': {letters}"
    raise scope.mistake(text, scope.call or node.at)
