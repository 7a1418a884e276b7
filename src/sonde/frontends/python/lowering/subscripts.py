"""What stands before brackets, and what they choose of it."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.python.check.objects import ItemOf
from sonde.frontends.python.lowering.context import Lowering
from sonde.frontends.python.lowering.operands import computed, expression, keys, operands
from sonde.frontends.python.lowering.text_methods import part_of
from sonde.frontends.python.lowering.values import ArrayName, Counted, Firing, Items, KernelData, Outside, Value

PLACES = ("args", "locals", "globals", "uregs")
"""Parts of a firing that have parts of their own."""


def subscripted(node: ast.Subscript, context: Lowering) -> Value:
    """`object[subscript]`, where it stands for a place as well as for a value."""
    of = context.value(node.value)
    at = context.at(node)
    match of:
        case Counted(number, None, _, _):
            return Counted(number, *keys(node.slice, context))
        case Counted():
            raise context.mistake(
                node, "an aggregation has one pair of brackets", "several keys are a tuple: reads[a, b]"
            )
        case Firing("args" | "uregs" as place):
            which = expression(node.slice, context)
            return syntax.Index(at, syntax.Identifier(at, place), (which,))
        case ArrayName(name):
            return syntax.Index(at, syntax.Identifier(at, name), keys(node.slice, context)[0])
        case Items(items):
            return _item(node, items, context)
        case KernelData(_):
            module = expression(node.slice, context)
            if isinstance(module, syntax.StringLiteral):
                return KernelData(module.value.decode(errors="replace"))
            raise context.mistake(node, "a module is a text", 'kernel["ext4"].name')
    if isinstance(of, Outside):
        whole, object_ = (context.frame.function.text(each) for each in (node, node.value))
        raise context.mistake(node, f"{object_} is {of.text}", f"bind the value to a name before: value = {whole}")
    found = computed(of, node.value, context)
    if isinstance(node.slice, ast.Slice):
        return _slice(node, node.slice, found, context)
    return syntax.Index(at, found, keys(node.slice, context)[0])


def subscript(node: ast.Subscript, context: Lowering) -> Value:
    found = subscripted(node, context)
    if isinstance(found, syntax.Index) and not _is_of_firing(found):
        return ItemOf(found.position, found.object, found.subscripts)
    return found


def _is_of_firing(found: syntax.Index) -> bool:
    return isinstance(found.object, syntax.Identifier) and found.object.name in PLACES


def _item(node: ast.Subscript, items: tuple[Value, ...], context: Lowering) -> Value:
    number = expression(node.slice, context)
    if not isinstance(number, syntax.Integer):
        raise context.mistake(node, "an item of a tuple is chosen by a constant", "write if and elif")
    if not -len(items) <= number.value < len(items):
        raise context.mistake(node, f"the tuple has {len(items)} items")
    return items[number.value]


def _slice(node: ast.Subscript, part: ast.Slice, found: syntax.Expr, context: Lowering) -> Value:
    at = context.at(node)
    if part.step is not None:
        raise context.mistake(node, "slices have no step in a probe", "leave it out")
    ends = [each for each in (part.lower, part.upper) if each is not None]
    before = len(context.out)
    given = operands(ends, context)
    if len(context.out) > before:
        with context.block() as first:
            found = context.kept(found)
        context.out[before:before] = first
    start = given.pop(0) if part.lower is not None else None
    return part_of(found, start, given[0] if given else None, at, context)
