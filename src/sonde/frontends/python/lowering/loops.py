"""Loops: `for` over a range or a tuple, and `while`."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Comparison
from sonde.frontends.python.check.signs import Choice, Compound
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.logic import condition, negated
from sonde.frontends.python.lowering.operands import computed, operands
from sonde.frontends.python.lowering.values import Items, KnownName, Value


def for_each(node: ast.For, context: Lowering) -> None:
    """A loop over a range, a tuple, or a tuple whose items are numbered by enumerate()."""
    given = node.iter
    if isinstance(given, ast.Call) and context.value(given.func) == KnownName("builtin", "enumerate"):
        _for_items(node, _numbered(given, context), context)
    elif isinstance(given, ast.Call):
        _for_range(node, context)
    else:
        _for_items(node, _items(given, context), context)


def _items(given: ast.expr, context: Lowering) -> Items:
    if isinstance(given, (ast.List, ast.Set)):
        given = ast.copy_location(ast.Tuple(given.elts, ast.Load()), given)
    found = context.value(given)
    if not isinstance(found, Items):
        raise context.mistake(given, "a loop of a probe goes over a range or a tuple", "for n in range(10):")
    if len(found.values) > _MOST_ITEMS:
        raise context.mistake(given, f"a loop goes over {_MOST_ITEMS} items at most, not {len(found.values)}")
    return found


_MOST_ITEMS = 64
"""Each item costs a comparison in each turn."""


def _numbered(given: ast.Call, context: Lowering) -> Items:
    starts = [*given.args[1:], *(each.value for each in given.keywords if each.arg == "start")]
    if len(given.args) + len(given.keywords) != 1 + len(starts) or len(starts) > 1 or not given.args:
        raise context.mistake(given, "enumerate() takes a tuple, and the first number")
    first = context.value(starts[0]) if starts else integer(0, context.at(given))
    if not isinstance(first, syntax.Integer):
        raise context.mistake(given, "the first number of enumerate() is a constant")
    values = _items(given.args[0], context).values
    return Items(tuple(
        Items((integer(first.value + number, context.at(given)), each)) for number, each in enumerate(values)
    ))  # fmt: skip


def _for_items(node: ast.For, items: Items, context: Lowering) -> None:
    """Each turn sets the names of the target to the items whose number the turn has."""
    at, counter = context.at(node), context.new(context.at(node))
    places: list[tuple[ast.Name, list[syntax.Expr]]] = []
    _take_apart(node.target, [*items.values], places, node, context)
    if not items.values:
        return
    frame = context.frame
    kept = [
        (frame.variable(name.id, at), _by_number(counter, [_lasting(each, context) for each in values], context))
        for name, values in places
    ]
    block = _body(node, [name.id for name, _ in places], kept, context)
    last = integer(len(items.values), at)
    context.emit(
        syntax.Loop(
            at, context.assignment(counter, integer(0, at)), Comparison(at, "<", counter, last),
            Compound(at, "+", counter, integer(1, at), context.typed), block,
        )
    )  # fmt: skip
    if frame.assigned is not None:
        # There is at least one item, so each name is set.
        frame.assigned.update(name.id for name, _ in places)


def _take_apart(
    target: ast.expr, values: list[Value], places: list[tuple[ast.Name, list[syntax.Expr]]], node: ast.For,
    context: Lowering,
) -> None:  # fmt: skip
    if isinstance(target, ast.Name):
        if target.id in context.frame.function.shared:
            raise context.mistake(target, "a loop's variable is the function's own", "set the other one in the loop")
        places.append((target, [computed(each, node.iter, context) for each in values]))
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise context.mistake(target, "a loop sets variables of the function", "name them: for n in (1, 2):")
    for number, each in enumerate(target.elts):
        parts: list[Value] = []
        for one in values:
            if not isinstance(one, Items) or len(one.values) != len(target.elts):
                raise context.mistake(target, f"{len(target.elts)} variables need tuples of as many items")
            parts.append(one.values[number])
        _take_apart(each, parts, places, node, context)


def _lasting(each: syntax.Expr, context: Lowering) -> syntax.Expr:
    """The value that an item has before the loop."""
    return each if isinstance(each, (syntax.Integer, syntax.StringLiteral)) else context.kept(each)


def _by_number(counter: syntax.Expr, values: list[syntax.Expr], context: Lowering) -> syntax.Expr:
    made = values[-1]
    for number in range(len(values) - 2, -1, -1):
        at = values[number].position
        made = Choice(at, Comparison(at, "==", counter, integer(number, at)), values[number], made)
    return made


def _for_range(node: ast.For, context: Lowering) -> None:
    start, stop, step = _range(node, context)
    target = node.target
    frame, at = context.frame, context.at(node)
    if not isinstance(target, ast.Name):
        raise context.mistake(
            target, "range() gives one number after the other", "name it by one name: for n in range(10)"
        )
    if target.id in frame.function.shared:
        raise context.mistake(target, "a loop's variable is the function's own", "set the other one in the loop")
    stop = stop if isinstance(stop, syntax.Integer) else context.kept(stop)
    variable = frame.variable(target.id, at)
    counter = variable if _is_counter(node, target.id, frame.function.tree) else context.new(at)
    block = _body(node, [target.id], [] if counter is variable else [(variable, counter)], context)
    context.emit(
        syntax.Loop(
            at, context.assignment(counter, start), Comparison(at, "<" if step > 0 else ">", counter, stop),
            Compound(at, "+", counter, integer(step, at), context.typed), block,
        )
    )  # fmt: skip


def _range(node: ast.For, context: Lowering) -> tuple[syntax.Expr, syntax.Expr, int]:
    """The ends, and the step."""
    given = node.iter
    if not isinstance(given, ast.Call) or context.value(given.func) != KnownName("builtin", "range"):
        raise context.mistake(given, "a loop of a probe goes over a range or a tuple", "for n in range(10):")
    if given.keywords or not 1 <= len(given.args) <= 3:
        raise context.mistake(given, "range() takes one to three numbers")
    found = operands(given.args, context)
    at = context.at(given)
    step = found[2] if len(found) > 2 else integer(1, at)
    if not isinstance(step, syntax.Integer) or not step.value:
        raise context.mistake(given, "the step of a range is a constant that is not 0", "range(0, n, 2)")
    start, stop = (integer(0, at), found[0]) if len(found) == 1 else (found[0], found[1])
    return start, stop, step.value


def _is_counter(node: ast.For, name: str, function: ast.FunctionDef) -> bool:
    """Whether the loop's variable may count: nothing else sets it, and nothing looks at it outside of the loop."""
    within = {id(each) for statement in node.body for each in ast.walk(statement)}
    uses = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name]
    return all(id(each) in within and isinstance(each.ctx, ast.Load) for each in uses if each is not node.target)


def _body(
    node: ast.For | ast.While,
    names: list[str],
    kept: list[tuple[syntax.ScopedVariable, syntax.Expr]],
    context: Lowering,
) -> tuple[syntax.Statement, ...]:
    """What is done again and again. It may be done never: what it sets need not be set behind it."""
    frame = context.frame
    before, bound = frame.assigned, dict(frame.bound)
    frame.assigned = {*(before or ()), *names}
    for name in names:
        frame.bound.pop(name, None)
    with context.block() as block:
        for variable, value in kept:
            context.set(variable, value)
        context.body(node.body)
    frame.assigned, frame.bound = before, bound
    return tuple(block)


def while_true(node: ast.While, context: Lowering) -> None:
    at = context.at(node)
    with context.block() as before:
        test = condition(node.test, context)
    block = _body(node, [], [], context)
    if before:
        leave = syntax.If(at, negated(test, at), (syntax.Leave(at, True),), ())
        block, asked = (*before, leave, *block), None
    else:
        asked = test
    context.emit(syntax.Loop(at, None, asked, None, block))
