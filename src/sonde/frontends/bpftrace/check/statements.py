"""Statements: those of the model for each of the syntax."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.frontends.bpftrace.check import (
    aggregations,
    failing,
    formats,
    implicit_casts,
    map_loops,
    maps,
    operators,
    subprograms,
    type_names,
)
from sonde.frontends.bpftrace.check.aggregating import NUMBERS, is_aggregating
from sonde.frontends.bpftrace.check.called_types import called
from sonde.frontends.bpftrace.check.calls import action, is_action
from sonde.frontends.bpftrace.check.conversions import constant, converted, test, wide, wrapped
from sonde.frontends.bpftrace.check.macros import enter, expanded, is_defined, leave
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import INT64, is_bool, is_integer, is_scalar, is_text, merged, spelled
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr, Statement
from sonde.model.types import INT, STRING, VOID, Type, resolve
from sonde.typed import Any

_MOST_UNROLLED = 100
_MOST_COPIED = 256
"""Statements of an unrolled loop with all its copies: one of more becomes a loop."""
_MOST_COPIES = 2000
"""Of a body in several unrolled loops: a program for the kernel has room for no more."""


def statements(body: Iterable[nodes.Statement], scope: BtScope) -> tuple[Statement, ...]:
    """Those of a block, whose variables end with it."""
    scope.open()
    found = in_block(body, scope)
    scope.close()
    return found


def in_block(body: Iterable[nodes.Statement], scope: BtScope) -> tuple[Statement, ...]:
    """Those of a block that is open."""
    found: list[Statement] = []
    for each in body:
        scope.add_statement(each.at)
        mark = scope.mark()
        scope.known.is_guessed = False
        try:
            scope.before.append([])
            made = _CHECKS[type(each)](each, scope)
            found += (*scope.before.pop(), *made)
        except BtError as error:
            if not scope.known.is_guessed:
                raise
            scope.known.put_off = error
            scope.back_to(mark)
            _declare_put_off(each, scope)
    return tuple(found)


def _declare_put_off(node: nodes.Statement, scope: BtScope) -> None:
    """A variable that the next pass knows more of, so that what asks for it is put off, too."""
    target = node.target if isinstance(node, nodes.Assign) else None
    name = node.name if isinstance(node, nodes.Let) else getattr(target, "name", "")
    if name.startswith("$") and scope.find(name) is None:
        scope.declare(name, None)


def _evaluate(node: nodes.Evaluate, scope: BtScope) -> list[Statement]:
    macro = expanded(node.value, scope) if isinstance(node.value, (nodes.Call, nodes.Name)) else None
    if macro is not None and isinstance(node.value, (nodes.Call, nodes.Name)):
        enter(node.value, scope)
        if isinstance(macro, nodes.BlockValue):
            body = _evaluate(node._replace(value=macro), scope)
        else:
            body = [*statements(macro.body, scope)]
        leave(node.value, scope)
        return body
    if isinstance(node.value, nodes.BlockValue):
        return [*statements((*node.value.statements, node._replace(value=node.value.value)), scope)]
    if isinstance(node.value, nodes.Call):
        outer, scope.call = scope.call, node.value.at
        found = action(node.value, scope)
        scope.call = outer
        if isinstance(found, tree.Exit):
            # What follows in the clause is not run.
            return [found, tree.Return(found.position)]
        if found is not None:
            return [found]
    if isinstance(node.value, nodes.Ternary):
        return _if(_as_if(node.value, node), scope)
    value = scope.expression(node.value, scope)
    if not (node.is_discarded or isinstance(node.value, nodes.Increment) or _is_deletion(node.value)):
        scope.remark("Return value discarded.", node.whole or node.at)
    return [tree.Evaluate(scope.at(node.at), value)]


def _is_deletion(node: nodes.Expr) -> bool:
    """What delete() tells is rarely asked for."""
    return isinstance(node, nodes.Call) and node.name == "delete"


def _as_if(node: nodes.Ternary, of: nodes.Evaluate) -> nodes.If:
    """`test ? this() : that()`, whose values nobody wants."""
    then = () if node.then is None else (of._replace(at=node.then.at, value=node.then, whole=of.whole or of.at),)
    otherwise = of._replace(at=node.otherwise.at, value=node.otherwise, whole=of.whole or of.at)
    return nodes.If(node.at, node.test, then, (otherwise,))


def _assign(node: nodes.Assign, scope: BtScope) -> list[Statement]:
    value_node = node.value
    if isinstance(value_node, nodes.BlockValue) and is_aggregating(value_node.value):
        inner = nodes.Assign(node.at, node.target, node.op, value_node.value)
        return [*statements((*value_node.statements, inner), scope)]
    if is_aggregating(node.value):
        return [aggregations.aggregate(node.target, node.value, scope)]

    _refuse_void(node, node.value, node.target, scope)
    if not node.op:
        _refuse_aggregation(node, node.value, node.target, scope)
    value = scope.expression(node.value, scope)
    if isinstance(node.value, nodes.MapName) and scope.known.is_guessed:
        return _put_off(node, node.value, scope)
    if node.op:
        value = operators.arithmetic(node.op, scope.expression(node.target, scope), value, node, scope)
    if isinstance(node.target, nodes.MapName):
        made = maps.assign_map(node, node.target, value, scope)
    else:
        assert isinstance(node.target, nodes.ScratchVariable)
        made = maps.assign_scratch(node, node.target.name, value, scope)
    return [tree.Evaluate(scope.at(node.at), made)]


def _refuse_void(node: nodes.Assign | nodes.Let, value: nodes.Expr, target: nodes.Expr, scope: BtScope) -> None:
    """Raises BtError where a function that gives nothing is assigned."""
    if isinstance(value, nodes.Call) and is_action(value.name) and not is_defined(value, scope):
        place = "map" if isinstance(target, nodes.MapName) else "scratch variable"
        raise scope.mistake(f"Value 'void' cannot be assigned to a {place}.", node.at)


def _refuse_aggregation(node: nodes.Assign | nodes.Let, value: nodes.Expr, target: nodes.Expr, scope: BtScope) -> None:
    """Raises BtError where what a function has made of a map is assigned as it is, not as a number."""
    if not isinstance(value, nodes.MapName):
        return
    function = scope.map(value.name, value.at).function
    if isinstance(target, nodes.MapName) and function in NUMBERS:
        if scope.map(target.name, target.at).value is not None:
            return
        # Elsewhere it may be assigned a number, and hold one then.
        scope.known.is_guessed = True
    if isinstance(target, nodes.MapName) and function:
        call = f"{target.name} = {_CALLS_OF_FUNCTIONS.get(function, f'{function}(retval)')}"
        text = f"Map value '{function}_t' cannot be assigned from one map to another. The function that returns this "
        raise scope.mistake(f"{text}type must be called directly e.g. `{call};`.", node.at)
    if function and function not in NUMBERS:
        raise scope.mistake(f"Value '{function}_t' cannot be assigned to a scratch variable.", node.at)


_CALLS_OF_FUNCTIONS = {
    "count": "count()", "lhist": "lhist(rand %10, 0, 10, 1)", "stats": "stats(arg2)",
    "tseries": "tseries(rand %10, 10s, 1)",
}  # fmt: skip
"""Examples for messages."""


def _put_off(node: nodes.Assign, value: nodes.MapName, scope: BtScope) -> list[Statement]:
    """Until the map is assigned to, further on, it has no type that the target could have."""
    scope.known.put_off = scope.mistake(f"Undefined map: {value.name}", value.at)
    if isinstance(node.target, nodes.ScratchVariable) and scope.find(node.target.name) is None:
        scope.declare(node.target.name, None)
    return []


def _let(node: nodes.Let, scope: BtScope) -> list[Statement]:
    if scope.find(node.name) is not None:
        text = f"Variable {node.name} was already declared. Variable shadowing is not allowed."
        raise scope.mistake(text, node.declared_at)
    if node.value is not None:
        named = nodes.ScratchVariable(node.at, node.name)
        _refuse_void(node, node.value, named, scope)
        _refuse_aggregation(node, node.value, named, scope)
    value = None if node.value is None else scope.expression(node.value, scope)
    scope.known.is_guessed = False

    declared = None if node.type is None else type_names.type_named(node.type, scope)
    if scope.known.is_guessed and node.type is not None:
        scope.known.put_off = scope.mistake("Could not resolve the type of this variable", node.type.at)
        scope.declare(node.name, None)
        return []
    if declared is not None and node.type is not None and resolve(declared) == VOID:
        raise scope.mistake(f"Invalid variable declaration type: {spelled(declared)}", node.type.at)
    kind = STRING if declared is not None and is_text(declared) else declared
    if kind is not None and value is not None:
        value = _of_declared(value, kind, node, scope)
    if value is None:
        local = scope.declare(node.name, kind)
        local.declared = declared
        scope.unassigned[local] = node.declared_at
        if kind is None or not is_scalar(kind):
            return []
        target = tree.Var(kind, scope.at(node.at), scope.local_variable(local))
        zero = tree.Assign(kind, scope.at(node.at), target, constant(0, scope.at(node.at), kind))
        return [tree.Evaluate(scope.at(node.at), zero)]

    local = scope.declare(node.name, None)
    local.declared = declared
    return [tree.Evaluate(scope.at(node.at), maps.assign_scratch(node, node.name, value, scope))]


def _of_declared(value: Expr, kind: Type, node: nodes.Let, scope: BtScope) -> Expr:
    """A value as one of the type that its variable is declared with."""
    whole = merged(kind, value.type)
    is_number = isinstance(value, tree.Const) and is_integer(kind) and not is_bool(kind)
    fits = not is_number or not isinstance(value, tree.Const) or wrapped(value.value, kind) == value.value
    if whole is None or not fits or (is_scalar(kind) and not is_scalar(value.type)):
        text = f"Type mismatch for {node.name}: trying to assign value of type '{spelled(value.type)}' when variable "
        raise scope.mistake(f"{text}already has a type '{spelled(kind)}'", node.at)
    if node.value is not None and value.type != kind:
        implicit_casts.warn_of_cast(node.value, value, kind, scope)
    return converted(value, kind)


def _if(node: nodes.If, scope: BtScope) -> list[Statement]:
    condition = test(node.test, scope, node.at)
    taken = failing.taken_branch(node, condition)
    if taken is not None:
        return [*statements(taken, scope)]
    then, otherwise = statements(node.then, scope), statements(node.otherwise, scope)
    return [tree.If(scope.at(node.at), condition, then, otherwise)]


def _while(node: nodes.While, scope: BtScope) -> list[Statement]:
    scope.remark("While loops are deprecated and may be removed in the future.", node.at, _RANGES)
    scope.before.append([])
    at, condition = scope.at(node.at), test(node.test, scope, None)
    before = scope.before.pop()
    scope.loops += 1
    body = statements(node.body, scope)
    scope.loops -= 1
    if not before:
        return [tree.Loop(at, condition, body, ())]
    ended = tree.If(at, condition, (), (tree.Leave(at, True),))
    return [tree.Loop(at, constant(1, at), (*before, ended, *body), ())]


_RANGES = (
    "For loops support ranges (e.g. `for ($x : $start..$end) { ... }`), and can be used in place of while. These are "
    "more easily proven to be bounded by the verifier."
)


def _for_range(node: nodes.ForRange, scope: BtScope) -> list[Statement]:
    """The bounds are evaluated once."""
    at = scope.at(node.at)
    if scope.find(node.name) is not None:
        raise scope.mistake(f"Loop declaration shadows existing variable: {node.name}", node.name_at)
    scope.open()
    count, end, shown = (scope.declare(name, INT64) for name in ("count", "end", node.name))
    variables = [tree.Var(INT64, at, scope.local_variable(each)) for each in (count, end, shown)]
    first, last = _bound(node.start, "start", node, scope), _bound(node.end, "end", node, scope)
    before = [
        tree.Evaluate(at, tree.Assign(INT64, at, variable, converted(value, INT64)))
        for variable, value in zip(variables, (first, last), strict=False)
    ]
    taken = tree.Evaluate(at, tree.Assign(INT64, at, variables[2], variables[0]))
    step = tree.Evaluate(at, tree.Increment(INT64, at, variables[0], 1, True))
    scope.loops += 1
    body = statements(node.body, scope)
    scope.loops -= 1
    scope.close()
    return [*before, tree.Loop(at, tree.Binary(INT, at, "<", variables[0], variables[1]), (taken, *body), (step,))]


def _for_map(node: nodes.ForMap, scope: BtScope) -> list[Statement]:
    return map_loops.over_map(node, scope, statements)


def _bound(value: nodes.Expr, which: str, node: nodes.ForRange, scope: BtScope) -> Expr:
    e = scope.expression(value, scope)
    if not is_integer(e.type):
        raise scope.mistake(f"Loop range requires an integer for the {which} value", node.at)
    return wide(e)


def _unroll(node: nodes.Unroll, scope: BtScope) -> list[Statement]:
    given = scope.expression(node.count, scope)
    if not isinstance(given, tree.Const) or not is_integer(given.type):
        raise scope.mistake("invalid unroll value", node.at)
    count = given.value
    if count > _MOST_UNROLLED:
        raise scope.mistake(f"unroll maximum value is {_MOST_UNROLLED}", node.at)
    if count < 1:
        raise scope.mistake("unroll minimum value is 1", node.at)
    outer, scope.copies = scope.copies, scope.copies * count
    if count > 1 and not _leaves(node.body) and count * _size(node.body) > _MOST_COPIED:
        scope.copies = 1
        found = _counted(node, count, scope)
        scope.copies = outer
        return found
    if scope.copies > _MOST_COPIES:
        raise scope.mistake(f"unroll within unroll makes more than {_MOST_COPIES} copies of its body", node.at)
    found = [each for _ in range(count) for each in statements(node.body, scope)]
    scope.copies = outer
    return found


def _counted(node: nodes.Unroll, count: int, scope: BtScope) -> list[Statement]:
    """An unrolled loop as one that counts: copies of so much take a program longer to compile than to run."""
    at = scope.at(node.at)
    scope.open()
    variable = tree.Var(INT64, at, scope.local_variable(scope.declare("count", INT64)))
    before = tree.Evaluate(at, tree.Assign(INT64, at, variable, constant(0, at, INT64)))
    step = tree.Evaluate(at, tree.Increment(INT64, at, variable, 1, True))
    body = statements(node.body, scope)
    scope.close()
    condition = tree.Binary(INT, at, "<", variable, constant(count, at, INT64))
    return [before, tree.Loop(at, condition, body, (step,))]


_WHOLE = (nodes.ForRange, nodes.ForMap, nodes.While)


def _size(node: Any) -> int:
    """How many statements a part of the syntax tree has, those of unrolled loops as often as they are copied."""
    if isinstance(node, nodes.Unroll):
        return _size(node.body) * (node.count.value if isinstance(node.count, nodes.Number) else 1)
    inner = sum(map(_size, node)) if isinstance(node, tuple) else 0
    return inner + isinstance(node, tuple(_CHECKS))


def _leaves(node: Any) -> bool:
    """Whether `break` or `continue` in it is of a loop around it."""
    if isinstance(node, nodes.Jump):
        return node.word != "return"
    return isinstance(node, tuple) and not isinstance(node, _WHOLE) and any(map(_leaves, node))


def _jump(node: nodes.Jump, scope: BtScope) -> list[Statement]:
    if node.word == "return":
        if scope.function is not None:
            return subprograms.returned(node, scope.function, scope)
        value = None if node.value is None else scope.expression(node.value, scope)
        if value is not None and not is_integer(value.type):
            text = f"Probe return values can only be integers. Found {called(value, scope)}"
            raise scope.mistake(text, node.at)
        at = scope.at(node.at)
        if value is not None and scope.attached.kind in _TOLD:
            told = tree.FormattedCommand(at, "returned", formats.conversions(b"%lld", node.at, scope), (value,))
            return [told, tree.Return(at)]
        return [tree.Return(at)]
    return [tree.Leave(scope.at(node.at), node.word == "break")]


_TOLD = ("test", "bench")
"""Kinds of probes that are run for what they return."""


def _block(node: nodes.Block, scope: BtScope) -> list[Statement]:
    return [*statements(node.body, scope)]


def _inlined(node: nodes.Inlined, scope: BtScope) -> list[Statement]:
    return [*subprograms.inlined_body(node, scope)]


_CHECKS: dict[type, Any] = {
    nodes.Evaluate: _evaluate, nodes.Assign: _assign, nodes.Let: _let, nodes.If: _if, nodes.While: _while,
    nodes.ForRange: _for_range, nodes.ForMap: _for_map, nodes.Unroll: _unroll, nodes.Jump: _jump, nodes.Block: _block,
    nodes.Inlined: _inlined,
}  # fmt: skip
