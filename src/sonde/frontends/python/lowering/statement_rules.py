"""Statements: each node of Python's tree to its rule."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from sonde.frontends.d import syntax
from sonde.frontends.python.lowering.assignments import annotated, assign, assign_all, augmented, deleted
from sonde.frontends.python.lowering.calling import arguments, call, counted, of_d
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.formats import printed, recorded
from sonde.frontends.python.lowering.inlining import called, returned
from sonde.frontends.python.lowering.logic import condition
from sonde.frontends.python.lowering.loops import for_each, while_true
from sonde.frontends.python.lowering.operands import name_of, operands
from sonde.frontends.python.lowering.values import Code, Counted, KnownName, Value
from sonde.typed import Any


def body(nodes: Sequence[ast.stmt], context: Lowering) -> None:
    """Statements in their order; what stands behind the end of a way is not compiled."""
    for node in nodes:
        if context.frame.assigned is None:
            return
        rule = _RULES.get(type(node))
        if rule is None:
            text, hint = _UNKNOWN.get(type(node).__name__, (f"{type(node).__name__} cannot be compiled", ""))
            raise context.mistake(node, text, hint)
        rule(node, context)


def _expression(node: ast.Expr, context: Lowering) -> None:
    inner = node.value
    if isinstance(inner, ast.Constant) and (isinstance(inner.value, str) or inner.value is ...):
        return
    if isinstance(inner, ast.JoinedStr):
        recorded(inner, context)
        return
    if isinstance(inner, ast.NamedExpr):
        assign(inner.target, inner.value, context)
        return
    if isinstance(inner, (ast.BoolOp, ast.IfExp)):
        raise context.mistake(node, "a choice of what to do is an `if` in a probe", "write if and else")
    if not isinstance(inner, ast.Call):
        # What a probe does not have at all says so itself.
        context.value(inner)
        raise context.mistake(node, "this does nothing", _KEPT)
    function = context.value(inner.func)
    match function:
        case KnownName("builtin", "print"):
            printed(inner, context)
        case KnownName("subroutine", name):
            context.run(of_d(name, inner, context), _names(name, inner, context))
        case KnownName("builtin", "exit"):
            _exit(inner, context)
        case Counted(_, _, _, True):
            counted(inner, function, context)
        case Code(number):
            called(number, inner, False, context)
        case _:
            call(inner, context)
            raise context.mistake(node, "this does nothing", _KEPT)


_KEPT = "print() records it, and a variable keeps it"

_FIRST = {"printf": 1}
"""How many of an action's arguments are before those that it records."""


def _names(name: str, node: ast.Call, context: Lowering) -> tuple[str, ...]:
    """What the values are called that a call of D's functions records: its arguments or, as of stack(), itself."""
    if name in ("trace", "tracemem", "printf"):
        return tuple(name_of(each, context) for each in node.args[_FIRST.get(name, 0) :])
    return (name_of(node, context),)


def _exit(node: ast.Call, context: Lowering) -> None:
    at = context.at(node)
    given = operands(arguments(node, context, 1), context) or [integer(0, at)]
    context.run(syntax.Call(at, syntax.Identifier(at, "exit"), (given[0],)))


def _assign(node: ast.Assign, context: Lowering) -> None:
    if len(node.targets) == 1:
        assign(node.targets[0], node.value, context)
    else:
        assign_all(node, context)


def _if(node: ast.If, context: Lowering) -> None:
    test = condition(node.test, context)
    if isinstance(test, syntax.Integer):
        context.body(node.body if test.value else node.orelse)
        return
    frame = context.frame
    before, bound = frame.assigned, dict(frame.bound)
    blocks: list[tuple[syntax.Statement, ...]] = []
    ends: list[tuple[set[str] | None, dict[str, Value]]] = []
    for nodes in (node.body, node.orelse):
        frame.assigned = None if before is None else set(before)
        frame.bound = dict(bound)
        with context.block() as block:
            context.body(nodes)
        blocks.append(tuple(block))
        ends.append((frame.assigned, frame.bound))
    (one, bound_in_one), (other, bound_in_other) = ends
    frame.assigned = other if one is None else one if other is None else one & other
    frame.bound = bound_in_other if one is None else bound_in_one if other is None else bound
    if any(blocks):
        context.emit(syntax.If(context.at(node), test, *blocks))


def _loop(node: ast.For | ast.While, context: Lowering) -> None:
    if node.orelse:
        raise context.mistake(node, "loops have no else in a probe", "keep in a variable whether the loop was left")
    if isinstance(node, ast.For):
        for_each(node, context)
    else:
        while_true(node, context)


def _leave(node: ast.Break | ast.Continue, context: Lowering) -> None:
    context.emit(syntax.Leave(context.at(node), isinstance(node, ast.Break)))
    context.frame.assigned = None


def _pass(_node: ast.stmt, _context: Lowering) -> None:
    """Nothing; `global` has been seen to before."""


_RULES: dict[type, Callable[[Any, Lowering], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AugAssign: augmented,
    ast.AnnAssign: annotated,
    ast.Delete: deleted,
    ast.If: _if,
    ast.For: _loop,
    ast.While: _loop,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.Return: returned,
    ast.Pass: _pass,
    ast.Global: _pass,
    ast.Nonlocal: _pass,
}

_UNKNOWN = {
    "Try": ("a probe has no try", "a fault ends the function, and is told by the run as a ProbeError"),
    "TryStar": ("a probe has no try", "a fault ends the function, and is told by the run as a ProbeError"),
    "Raise": ("a probe raises nothing", "raise_(signal) sends a signal; exit(status) ends the run"),
    "Assert": ("a probe asserts nothing", "write if, and print() what is wrong"),
    "With": ("a probe has no with", "set a variable before, and free it after"),
    "Import": ("a probe imports nothing", "import outside of the function: constants of modules can be used"),
    "ImportFrom": ("a probe imports nothing", "import outside of the function: constants of modules can be used"),
    "FunctionDef": ("a probe has no functions in it", "define the function outside, and call it"),
    "AsyncFunctionDef": ("a probe has no functions in it", "define the function outside, and call it"),
    "ClassDef": ("a probe has no classes", "variables of `thread` and tables keep values"),
    "Match": ("a match in a probe compares with values", "write if and elif"),
    "AsyncFor": ("a probe waits for nothing", "write for"),
    "AsyncWith": ("a probe waits for nothing", "set a variable before, and free it after"),
}
