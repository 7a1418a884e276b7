"""Expressions: each node of Python's tree to its rule."""

from __future__ import annotations

import ast
from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.python.check.objects import Attribute, OfFiring
from sonde.frontends.python.lowering.arithmetic import binary
from sonde.frontends.python.lowering.assignments import assign
from sonde.frontends.python.lowering.calling import call
from sonde.frontends.python.lowering.context import Lowering, encoded, integer
from sonde.frontends.python.lowering.formats import joined
from sonde.frontends.python.lowering.logic import boolean, compare, conditional, unary
from sonde.frontends.python.lowering.names import captured_path, named
from sonde.frontends.python.lowering.operands import computed
from sonde.frontends.python.lowering.subscripts import PLACES, subscript
from sonde.frontends.python.lowering.values import (
    ArrayName,
    Counted,
    Firing,
    Items,
    KernelData,
    Nothing,
    Outside,
    Thread,
    Value,
)
from sonde.model.errors import Position
from sonde.typed import Any


def value(node: ast.expr, context: Lowering) -> Value:
    """What an expression is: something of the program, or something that is known now. Raises PythonError."""
    rule = _RULES.get(type(node))
    if rule is None:
        text, hint = _UNKNOWN.get(type(node).__name__, (f"{type(node).__name__} cannot be compiled", ""))
        raise context.mistake(node, text, hint)
    return rule(node, context)


# Rules


def _constant(node: ast.Constant, context: Lowering) -> Value:
    at, found = context.at(node), node.value
    if found is None:
        return Nothing()
    if isinstance(found, (bool, int)):
        return integer(int(found), at)
    if isinstance(found, str):
        return _text(encoded(found, at), node, context)
    if isinstance(found, bytes):
        return _text(found, node, context)
    if isinstance(found, float):
        raise context.mistake(node, "probes compute with whole numbers", "multiply first: ns // 1000 for microseconds")
    raise context.mistake(node, f"{found!r} cannot be a value of a probe", "probes have whole numbers and texts")


def _text(found: bytes, node: ast.expr, context: Lowering) -> Value:
    if b"\0" in found:
        raise context.mistake(node, "a text of a program ends before its first NUL", "leave the NUL out")
    return syntax.StringLiteral(context.at(node), found)


def _attribute(node: ast.Attribute, context: Lowering) -> Value:
    known = captured_path(node, context)
    if known is not None:
        return known
    of = context.value(node.value)
    at = _end(node, context)
    match of:
        case Firing(""):
            return _of_firing(node, at, context)
        case Firing("uregs"):
            raise context.mistake(node, "uregs has the registers by their numbers", "p.uregs[p.R_SP]")
        case Firing(place):
            return syntax.Member(at, syntax.Identifier(at, place), node.attr, True)
        case Thread():
            return syntax.ScopedVariable(at, "self", node.attr)
        case KernelData(module):
            return syntax.Identifier(at, node.attr, module)
        case Counted():
            return _method(node, of, context)
        case Outside(text):
            spelled = context.frame.function.text(node)
            raise context.mistake(
                node, f"{spelled} cannot be looked up: {text}", "bind the value to a name before the probe"
            )
        case Items(_) | ArrayName(_):
            hint = "a table has elements, and `del` for them; tuples have items"
            raise context.mistake(node, f"there is no method {node.attr} in a probe", hint)
    return Attribute(at, computed(of, node.value, context), node.attr)


def _of_firing(node: ast.Attribute, at: Position, context: Lowering) -> Value:
    if node.attr in PLACES:
        return Firing(node.attr)
    if node.attr == "target":
        return syntax.Identifier(at, "$target") if context.target is None else integer(context.target, at)
    return OfFiring(at, node.attr)


def _method(node: ast.Attribute, of: Counted, context: Lowering) -> Value:
    if node.attr != "add":
        raise context.mistake(
            node, f"an aggregation has no {node.attr} in a probe", "it has add(): reads[key].add(value)"
        )
    return of._replace(is_add=True)


def _end(node: ast.Attribute, context: Lowering) -> Position:
    """Where the name behind the dot is."""
    line, offset = node.end_lineno or node.lineno, node.end_col_offset or 0
    return context.frame.function.place(line, offset - len(node.attr.encode()))


def _tuple(node: ast.Tuple, context: Lowering) -> Value:
    values = [context.value(each) for each in node.elts]
    return Items(tuple(values))


def _name(node: ast.Name, context: Lowering) -> Value:
    return named(node, context)


def _set(node: ast.NamedExpr, context: Lowering) -> Value:
    assign(node.target, node.value, context)
    return named(node.target, context)


_RULES: dict[type, Callable[[Any, Lowering], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: subscript,
    ast.Tuple: _tuple,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.BoolOp: boolean,
    ast.Compare: compare,
    ast.IfExp: conditional,
    ast.Call: call,
    ast.JoinedStr: joined,
    ast.NamedExpr: _set,
}

_LOOPS = "write a loop: for n in range(...)"
_TABLES = "an empty dict outside of the probe is an associative array: starts = {}"
_UNKNOWN = {
    "List": ("a probe has no lists", "a tuple groups values; an empty dict outside of the probe is an array"),
    "Dict": ("a probe makes no dicts", _TABLES),
    "Set": ("a probe makes no sets", _TABLES),
    "ListComp": ("a probe has no comprehensions", _LOOPS),
    "SetComp": ("a probe has no comprehensions", _LOOPS),
    "DictComp": ("a probe has no comprehensions", _LOOPS),
    "GeneratorExp": ("a probe has no comprehensions", _LOOPS),
    "Lambda": ("a probe has no lambdas", "write a function with def, outside of the probe, and call it"),
    "Await": ("a probe waits for nothing", "await the run instead: async with sonde.run(...)"),
    "Yield": ("a probe yields nothing", "print() a record"),
    "YieldFrom": ("a probe yields nothing", "print() a record"),
    "Starred": ("a * stands for nothing here", "write the items one by one"),
    "Slice": ("a slice is for texts", "write the items one by one"),
}
