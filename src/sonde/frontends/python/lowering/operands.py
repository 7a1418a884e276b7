"""Expressions as operands: values that a program can compute with, in the order in which Python looks at them."""

from __future__ import annotations

import ast
import re

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Truth, Whole
from sonde.frontends.python.lowering.context import Lowering, integer, is_simple
from sonde.frontends.python.lowering.values import (
    COMPILE_TIME,
    ArrayName,
    Code,
    Counted,
    Firing,
    Items,
    KernelData,
    KnownName,
    Nothing,
    Outside,
    Thread,
    Value,
)
from sonde.typed import Any, cast


def expression(node: ast.expr, context: Lowering) -> syntax.Expr:
    """An expression that has a value when the probe fires."""
    return computed(context.value(node), node, context)


def computed(found: Value, node: ast.expr, context: Lowering) -> syntax.Expr:
    """A value as one that a program can compute with."""
    if isinstance(found, Nothing):
        return integer(0, context.at(node))
    if not isinstance(found, COMPILE_TIME):
        return found
    text, hint = _alone(cast("Any", found), context.frame.function.text(node))
    raise context.mistake(node, text, hint)


def _alone(found: Any, spelled: str) -> tuple[str, str]:
    """Why what is known now is no value of the program."""
    match found:
        case Counted():
            return f"{spelled} is an aggregation, and cannot be read in a probe", f"count in it: {spelled}.add(...)"
        case Firing():
            return f"{spelled} is the firing", f"take one of its values: {spelled}.pid"
        case Thread():
            return f"{spelled} has the variables of the thread", f"take one of them: {spelled}.start"
        case KernelData():
            return f"{spelled} has the kernel's data", f"take some of it: {spelled}.jiffies"
        case ArrayName(_):
            return f"{spelled} is an associative array", f"take one of its elements: {spelled}[key]"
        case Code(_):
            return f"{spelled} is a function", f"call it: {spelled}(...)"
        case KnownName(_, name):
            return f"{name} is a function", f"call it: {name}(...)"
        case Items(_):
            return "a tuple is for keys and for several variables at once", "take one of its items"
        case Outside(text):
            return f"{spelled} is {text}", "numbers, texts, tuples of them and aggregations can be used from outside"
    raise AssertionError(found)


def operands(nodes: list[ast.expr], context: Lowering) -> list[syntax.Expr]:
    """Several expressions, each looked at after what the ones before it do."""
    made: list[syntax.Expr] = []
    for node in nodes:
        before = len(context.out)
        found = expression(node, context)
        if len(context.out) > before:
            with context.block() as first:
                made = [each if _is_constant(each) else context.kept(each) for each in made]
            context.out[before:before] = first
        made.append(found)
    return made


def _is_constant(e: syntax.Expr) -> bool:
    return isinstance(e, (syntax.Integer, syntax.StringLiteral))


def now(found: Items, node: ast.expr, context: Lowering) -> Items:
    """A tuple that gets a name: of the values that its items have now."""
    values = [computed(each, node, context) for each in found.values]
    return Items(tuple(each if _is_constant(each) else context.kept(each) for each in values))


def simple(e: syntax.Expr, context: Lowering) -> syntax.Expr:
    """The same value as something that can be looked at again and again."""
    return e if is_simple(e) else context.kept(e)


def as_truth(e: syntax.Expr) -> syntax.Expr:
    return e if isinstance(e, syntax.Integer) else Truth(e.position, e)


def keys(node: ast.expr, context: Lowering) -> tuple[tuple[syntax.Expr, ...], tuple[str, ...]]:
    """The parts of a key, and what the source calls them."""
    if isinstance(node, ast.Tuple):
        found = operands(node.elts, context)
        return tuple(Whole(e.position, e) for e in found), tuple(name_of(each, context) for each in node.elts)
    known = context.value(node)
    if isinstance(known, Items):
        parts = [computed(each, node, context) for each in known.values]
        name = name_of(node, context)
        return tuple(Whole(e.position, e) for e in parts), tuple(f"{name}[{n}]" for n in range(len(parts)))
    e = computed(known, node, context)
    return (Whole(e.position, e),), (name_of(node, context),)


def name_of(node: ast.expr, context: Lowering) -> str:
    """What a record calls a value: the source, without the name of the firing before it."""
    text = context.frame.function.text(node)
    for name, found in context.frame.bound.items():
        if isinstance(found, Firing) and not found.place:
            text = re.sub(rf"(?<![\w.]){name}\.(?=\w)", "", text)
    return text
