"""Functions of a program: `fn name($x: type): type { ... }`, whose body takes the place of each call.

A call becomes a block: variables of the declared types with the arguments, the body, and what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from sonde.frontends.bpftrace.check.scope import RESULT, BtScope, Knowledge
from sonde.frontends.bpftrace.check.types import smallest, spelled
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.inlining import inlined
from sonde.model.program import Statement


def expansion(call: nodes.Call, scope: BtScope) -> nodes.BlockValue | nodes.Block:
    """What a call of one of the scope's functions stands for: a block, with a value unless it is void. Raises
    BtError."""
    function = scope.functions[call.name]
    scope.called.add(call.name)
    given, wanted = len(call.arguments), len(function.parameters)
    if given != wanted:
        text = f"Function {call.name}() takes {wanted} argument{'' if wanted == 1 else 's'} ({given} provided)"
        raise scope.mistake(text, call.at)
    scope.add_statement(call.at)
    scope.expansions += 1
    number, at, is_void = scope.expansions, call.at, _is_void(function)
    result = None if is_void else f"{RESULT}{function.name}"
    own = {
        name: f"{name} {number}" for name in (*(name for name, _ in function.parameters), *([result] if result else []))
    }
    taken: list[nodes.Statement] = []
    for (name, kind), argument in zip(function.parameters, call.arguments, strict=True):
        if isinstance(argument, nodes.TypeName):
            raise scope.mistake(f"Function {call.name}() takes values, not types", argument.at)
        taken.append(nodes.Let(argument.at, own[name], kind, argument, argument.at))
    body = nodes.Inlined(at, function, tuple(own.items()), result)
    if result is None:
        return nodes.Block(at, (*taken, body))
    taken.append(nodes.Let(at, own[result], function.returns, None, at))
    return nodes.BlockValue(at, (*taken, body), nodes.ScratchVariable(at, own[result]))


def inlined_body(node: nodes.Inlined, scope: BtScope) -> tuple[Statement, ...]:
    """The statements of the function. Raises BtError."""
    return inlined(scope.at(node.at), scope.body_of(node))


def returned(jump: nodes.Jump, function: nodes.Inlined, scope: BtScope) -> list[Statement]:
    """`return` of a function. Raises BtError."""
    left = tree.Return(scope.at(jump.at), True)
    name, value = function.function.name, jump.value
    if function.result is None:
        if value is not None:
            what = spelled(smallest(value.value)) if isinstance(value, nodes.Number) else "a value"
            raise scope.mistake(f"Function {name} is of type void, cannot return {what}", jump.at)
        return [left]
    if value is None:
        raise scope.mistake(f"Function {name}() has to return a value", jump.at)
    target = nodes.ScratchVariable(jump.at, function.result)
    return [*scope.body((nodes.Assign(jump.at, target, "", value),), scope), left]


def check_uncalled(scope: BtScope, make: Callable[[], BtScope]) -> None:
    """Check what no probe of a program calls as if something did, once all else is known: `make` gives a scope for each
    time, which knows what this one knows. Raises BtError."""
    for function in scope.functions.values():
        if function.name in scope.called:
            continue
        known = _copy(scope.known)
        for _ in range(_MOST_PASSES):
            own = make()
            own.known = known
            known.changed, known.settled, known.put_off = False, True, None
            own.before.append([])
            call = nodes.Call(function.at, function.name, tuple(_argument(kind) for _, kind in function.parameters))
            own.body((nodes.Evaluate(function.at, call),), own)
            if not known.changed:
                break
        if known.put_off is not None:
            raise known.put_off
        scope.called |= own.called


_MOST_PASSES = 16


def _argument(kind: nodes.TypeName) -> nodes.Expr:
    """A value that a parameter takes."""
    if kind.words == "string":
        return nodes.StringLiteral(kind.at, b"")
    return nodes.Cast(kind.at, kind, nodes.Number(kind.at, 0))


def _copy(known: Knowledge) -> Knowledge:
    made = Knowledge()
    made.maps = {name: copy(use) for name, use in known.maps.items()}
    made.scratch, made.options = dict(known.scratch), dict(known.options)
    return made


def _is_void(function: nodes.SubprogramItem) -> bool:
    return function.returns.words == "void" and not function.returns.suffixes


def functions_of(items: Sequence[nodes.Item], file: str | None) -> dict[str, nodes.SubprogramItem]:
    """Functions by their names. Raises BtError for a name that is there twice."""
    found: dict[str, nodes.SubprogramItem] = {}
    macros = {each.name for each in items if isinstance(each, nodes.Macro)}
    for each in items:
        if not isinstance(each, nodes.SubprogramItem):
            continue
        if each.name in found or each.name in macros:
            raise BtError(f"Redefinition of function: {each.name}", each.at, "", file)
        names = [name for name, _ in each.parameters]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BtError(f"Parameter {twice} of {each.name}() is there twice", each.at, "", file)
        found[each.name] = each
    return found
