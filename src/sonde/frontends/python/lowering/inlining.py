"""Functions of the program, which are copied where they are called."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Narrow
from sonde.frontends.python.lowering.assignments import narrow
from sonde.frontends.python.lowering.context import FunctionFrame, Lowering, integer
from sonde.frontends.python.lowering.operands import computed, now
from sonde.frontends.python.lowering.sources import ParsedFunction
from sonde.frontends.python.lowering.values import COMPILE_TIME, Items, Nothing, Value


def called(number: int, node: ast.Call, wants_value: bool, context: Lowering) -> syntax.Expr:
    """A call. With `wants_value` every way through the function has to return one."""
    if number in context.unread:
        raise context.unread[number]
    function = context.functions[number]
    if any(frame.number == number for frame in context.frames):
        name = function.captured.name
        raise context.mistake(node, f"{name}() calls itself", "write a loop")
    at = context.at(node)
    frame = context.enter(function, number)
    _take_arguments(frame, function, node, context)
    returns = [each for each in ast.walk(function.tree) if isinstance(each, ast.Return)]
    if wants_value and len(function.tree.body) == 1 and returns and returns[0] is function.tree.body[0]:
        return _expression(frame, returns[0], context)
    if wants_value:
        frame.result = f"{frame.prefix}#result"
    context.frames.append(frame)
    try:
        with context.block() as body:
            context.body(function.tree.body)
    finally:
        context.frames.pop()
    context.emit(syntax.Inlined(at, tuple(body)))
    if not wants_value:
        return integer(0, at)
    if frame.assigned is not None:
        name = function.captured.name
        raise context.mistake(node, f"{name}() does not return a value on every way", "let it end with a return")
    return syntax.ScopedVariable(at, "this", frame.result)


def _expression(frame: FunctionFrame, node: ast.Return, context: Lowering) -> syntax.Expr:
    """A function that is a single expression."""
    if node.value is None:
        raise context.mistake(node, f"{frame.function.captured.name}() returns nothing")
    context.frames.append(frame)
    try:
        return computed(context.value(node.value), node.value, context)
    finally:
        context.frames.pop()


def _take_arguments(frame: FunctionFrame, function: ParsedFunction, node: ast.Call, context: Lowering) -> None:
    """Set the parameters; what is known now stands for itself."""
    parameters = function.tree.args
    if parameters.vararg or parameters.kwarg:
        raise context.mistake(node, f"{function.captured.name}() takes any number of arguments", "name its parameters")
    places = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    given = dict(zip(places, node.args, strict=False))
    names = {*places, *(each.arg for each in parameters.kwonlyargs)}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
            raise context.mistake(node, f"{function.captured.name}() takes no {keyword.arg or '**'} here")
        given[keyword.arg] = keyword.value
    if any(isinstance(each, ast.Starred) for each in node.args):
        raise context.mistake(node, "a * stands for nothing in a probe", "write the arguments one by one")
    if len(node.args) > len(places):
        text = f"{function.captured.name}() takes {len(places)} arguments, not {len(node.args)}"
        raise context.mistake(node, text)
    for name, each in given.items():
        _take(frame, name, context.value(each), each, context)
    for name, default in _defaults(parameters):
        if name not in given:
            _take_default(frame, name, default, context)
    missing = names - given.keys() - {name for name, _ in _defaults(parameters)}
    if missing:
        raise context.mistake(node, f"{function.captured.name}() needs {', '.join(sorted(missing))}")


def _defaults(parameters: ast.arguments) -> list[tuple[str, ast.expr]]:
    places = [*parameters.posonlyargs, *parameters.args]
    found = [*zip(places[len(places) - len(parameters.defaults) :], parameters.defaults, strict=True)]
    found += [(each, default) for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
              if default is not None]  # fmt: skip
    return [(each.arg, default) for each, default in found]


def _take_default(frame: FunctionFrame, name: str, default: ast.expr, context: Lowering) -> None:
    context.frames.append(frame)
    try:
        found = context.value(default)
    finally:
        context.frames.pop()
    _take(frame, name, found, default, context)


def _take(frame: FunctionFrame, name: str, found: Value, node: ast.expr, context: Lowering) -> None:
    is_set = any(
        isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
        for each in ast.walk(frame.function.tree)
    )
    if isinstance(found, Nothing) and is_set:
        found = computed(found, node, context)
    is_constant = isinstance(found, (syntax.Integer, syntax.StringLiteral))
    if isinstance(found, COMPILE_TIME) or (is_constant and not is_set):
        if is_set:
            computed(found, node, context)
        frame.bound[name] = now(found, node, context) if isinstance(found, Items) else found
        return
    e = found
    target = frame.variable(name, context.at(node))
    if isinstance(e, Narrow):
        narrow(target, e, context)
    else:
        context.set(target, e)
    assert frame.assigned is not None
    frame.assigned.add(name)


def returned(node: ast.Return, context: Lowering) -> None:
    """`return`, of the probe or of a function that it calls."""
    frame, at = context.frame, context.at(node)
    if frame.is_clause:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            _unwanted(node.value, context)
        context.emit(syntax.Return(at))
        frame.assigned = None
        return
    if frame.result:
        if node.value is None:
            raise context.mistake(node, f"{frame.function.captured.name}() returns nothing here", "return a value")
        found = computed(context.value(node.value), node.value, context)
        context.set(syntax.ScopedVariable(at, "this", frame.result), found)
    elif node.value is not None:
        _unwanted(node.value, context)
    context.emit(syntax.Return(at, True))
    frame.assigned = None


def _unwanted(node: ast.expr, context: Lowering) -> None:
    """A value that nobody takes, which may do something on its way."""
    context.value(node)
