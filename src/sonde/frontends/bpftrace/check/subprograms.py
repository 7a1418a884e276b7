"""Functions of a program: `fn name($x: type): type { ... }`, whose body takes the place of each call.

A call becomes a block: variables of the declared types with the arguments, the body, and what it returns. `return`
leaves no more than that block: it sets the result and a mark, and what follows runs where the mark is not set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from sonde.frontends.bpftrace.check.scope import RESULT, BtScope, Knowledge
from sonde.frontends.bpftrace.check.types import smallest, spelled
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import Any

_IS_DONE = "$is_done"
"""Variables of an expansion; no text of a program can spell them, since a number with a blank is added."""
_LOOPS = (nodes.While, nodes.ForRange, nodes.ForMap)


def expansion(call: nodes.Call, scope: BtScope) -> nodes.BlockValue | nodes.Block:
    """What a call of one of the scope's functions stands for: a block, with a value unless it is void. Raises
    BtError."""
    function = scope.functions[call.name]
    scope.called.add(call.name)
    given, wanted = len(call.arguments), len(function.parameters)
    if given != wanted:
        text = f"Function {call.name}() takes {wanted} argument{'' if wanted == 1 else 's'} ({given} provided)"
        raise scope.mistake(text, call.at)
    scope.expansions += 1
    number, at, body = scope.expansions, call.at, _Returns(function).lowered()
    taken: list[nodes.Statement] = []
    for (name, kind), argument in zip(function.parameters, call.arguments, strict=True):
        if isinstance(argument, nodes.TypeName):
            raise scope.mistake(f"Function {call.name}() takes values, not types", argument.at)
        taken.append(nodes.Let(argument.at, _own(name, number), kind, argument, argument.at))
    taken.append(nodes.Let(at, _own(_IS_DONE, number), None, nodes.Number(at, 0), at))
    if is_void(function):
        return nodes.Block(at, (*taken, *_renamed(body, number)))
    result = _own(_result(function), number)
    taken.append(nodes.Let(at, result, function.returns, None, at))
    return nodes.BlockValue(at, (*taken, *_renamed(body, number)), nodes.ScratchVariable(at, result))


def _result(function: nodes.SubprogramItem) -> str:
    """The variable of what it returns, of which messages say what it is."""
    return f"{RESULT}{function.name}"


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


def is_void(function: nodes.SubprogramItem) -> bool:
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


class _Returns:
    """The body of a function in which each `return` is assignments, and a `break` where it stands in a loop."""

    def __init__(self, function: nodes.SubprogramItem) -> None:
        self.function = function

    def lowered(self) -> tuple[nodes.Statement, ...]:
        return self._block(self.function.body, False)

    def _block(self, body: tuple[nodes.Statement, ...], in_loop: bool) -> tuple[nodes.Statement, ...]:
        """A loop is left by `break`, so only elsewhere what follows has to ask for the mark."""
        found: list[nodes.Statement] = []
        for place, each in enumerate(body):
            if isinstance(each, nodes.Jump) and each.word == "return":
                return (*found, *self._result(each), *([nodes.Jump(each.at, "break")] if in_loop else []))
            if not _returns(each):
                found.append(each)
                continue
            found.append(self._within(each, in_loop))
            rest = self._block(body[place + 1 :], in_loop)
            is_done = nodes.ScratchVariable(each.at, _IS_DONE)
            guarded: tuple[nodes.Statement, ...]
            if not in_loop:
                guarded = (nodes.If(each.at, is_done, (), rest),) if rest else ()
            elif isinstance(each, _LOOPS):
                guarded = (nodes.If(each.at, is_done, (nodes.Jump(each.at, "break"),), ()), *rest)
            else:
                guarded = rest
            return (*found, *guarded)
        return tuple(found)

    def _result(self, jump: nodes.Jump) -> list[nodes.Statement]:
        at, name = jump.at, self.function.name
        done = nodes.Assign(at, nodes.ScratchVariable(at, _IS_DONE), "", nodes.Number(at, 1))
        if is_void(self.function):
            if jump.value is not None:
                value = jump.value
                what = spelled(smallest(value.value)) if isinstance(value, nodes.Number) else "a value"
                raise BtError(f"Function {name} is of type void, cannot return {what}", at)
            return [done]
        if _returns(jump.value):
            self._within(jump.value, False)
        if jump.value is None:
            raise BtError(f"Function {name}() has to return a value", at)
        return [nodes.Assign(at, nodes.ScratchVariable(at, _result(self.function)), "", jump.value), done]

    def _within(self, node: Any, in_loop: bool) -> Any:
        """A statement with `return` in it, which may stand in blocks alone."""
        if isinstance(node, nodes.If) and not _returns(node.test):
            return node._replace(then=self._block(node.then, in_loop), otherwise=self._block(node.otherwise, in_loop))
        if isinstance(node, nodes.Block):
            return node._replace(body=self._block(node.body, in_loop))
        if isinstance(node, _LOOPS) and _returns(node.body):
            return node._replace(body=self._block(node.body, True))
        if isinstance(node, nodes.Unroll):
            body = self._block(node.body, in_loop)
            is_done = nodes.ScratchVariable(node.at, _IS_DONE)
            return node._replace(body=body if in_loop else (nodes.If(node.at, is_done, (), body),))
        raise BtError("'return' statement is not allowed in a block that is a value", node.at)


def _returns(node: Any) -> bool:
    """Whether there is a `return` in a part of a body."""
    if isinstance(node, nodes.Jump) and node.word == "return":
        return True
    return isinstance(node, tuple) and any(_returns(each) for each in node)


def _renamed(node: Any, number: int) -> Any:
    """A part of a body, whose variables are those of the expansion with that number."""
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        return tuple(_renamed(each, number) for each in node)
    if not hasattr(node, "_fields") or type(node).__module__ != nodes.__name__:
        return node
    changes = {name: _renamed(getattr(node, name), number) for name in node._fields}
    if isinstance(node, (nodes.ScratchVariable, nodes.Let, nodes.ForRange, nodes.ForMap)):
        changes["name"] = _own(node.name, number)
    return type(node)(**changes)


def _own(name: str, number: int) -> str:
    return f"{name} {number}"
