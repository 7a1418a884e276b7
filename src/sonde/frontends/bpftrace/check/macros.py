"""Macros: their bodies with the arguments in the places of the parameters. Scratch variables of a body are its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.bpftrace.check import subprograms
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import Any

_MOST_NESTED = 32
"""Macros within macros: one that calls itself has no end."""


def expanded(call: nodes.Call | nodes.Name, scope: BtScope) -> nodes.BlockValue | nodes.Block | None:
    """What a call of a macro or function stands for, None where there is none: a block, with a value if it has
    one."""
    arguments = call.arguments if isinstance(call, nodes.Call) else ()
    macros = scope.macros.get((call.name, len(arguments)))
    if macros is None:
        if not isinstance(call, nodes.Call) or call.name not in scope.functions:
            return None

        return subprograms.expansion(call, scope)
    macro = _best(macros, arguments, call, scope)
    scope.add_statement(call.at)
    scope.expansions += 1
    replaced: dict[str, Any] = dict(zip(macro.parameters, arguments, strict=True))
    body = _rewritten(macro.body, replaced, scope.expansions)
    if macro.value is None:
        return nodes.Block(call.at, body)
    return nodes.BlockValue(call.at, body, _rewritten(macro.value, replaced, scope.expansions))


def enter(call: nodes.Call | nodes.Name, scope: BtScope) -> None:
    """Go into what a macro or function stands for. Raises BtError where they are nested too deeply."""
    scope.depth += 1
    if scope.depth > _MOST_NESTED:
        kind = "function" if call.name in scope.functions else "macro"
        raise scope.mistake(f"Recursive {kind} call detected: {call.name}", call.at)
    if call.name not in scope.functions:
        scope.expanded_from.append(call.at)


def leave(call: nodes.Call | nodes.Name, scope: BtScope) -> None:
    """Go out of it."""
    scope.depth -= 1
    if call.name not in scope.functions:
        scope.expanded_from.pop()


def no_definition(call: nodes.Call | nodes.Name, scope: BtScope, why: str) -> BtError:
    text = f"Call to {call.name}() has arguments that do not match any definition."
    return scope.mistake(text, call.at, why)


def _best(
    macros: Sequence[nodes.Macro], arguments: Sequence[Any], call: nodes.Call | nodes.Name, scope: BtScope
) -> nodes.Macro:
    """Of macros with one name the one that takes the arguments, and says most about them. Raises BtError."""
    fitting = [each for each in macros if all(map(_fits, each.parameters, arguments))]
    if fitting:
        return max(fitting, key=lambda macro: sum(each[0] in "$@" for each in macro.parameters))
    wrong = next(each for each, given in zip(macros[0].parameters, arguments, strict=True) if not _fits(each, given))
    raise no_definition(call, scope, f"{wrong} wants a {'variable' if wrong[0] == '$' else 'map'}")


def _fits(parameter: str, argument: Any) -> bool:
    if parameter.startswith("$"):
        return isinstance(argument, nodes.ScratchVariable)
    return not parameter.startswith("@") or (isinstance(argument, nodes.MapName) and argument.keys is None)


def _rewritten(node: Any, replaced: Mapping[str, Any], number: int) -> Any:
    """A part of a body, of the macro's expansion with that number."""
    if isinstance(node, nodes.ScratchVariable):
        found = replaced.get(node.name)
        return found if found is not None else node._replace(name=_own(node.name, number))
    if isinstance(node, nodes.Let) and node.name in replaced:
        raise BtError(f"Variable declaration shadows macro arg {node.name}", node.declared_at)
    if isinstance(node, nodes.Name) and node.name in replaced:
        return replaced[node.name]
    if isinstance(node, nodes.TypeName) and (found := replaced.get(node.words.split(" ")[-1])) is not None:
        return _type(node, found)
    if isinstance(node, nodes.Offset):
        path = tuple(part for each in node.path for part in _path(each, replaced))
        return node._replace(of=_rewritten(node.of, replaced, number), path=path)
    if isinstance(node, nodes.MapName):
        found = replaced.get(node.name)
        if found is None:
            text = f"Unhygienic access to map: {node.name}. Maps must be passed into the macro as arguments."
            raise BtError(text, node.at)
        keys = _rewritten(node.keys, replaced, number)
        return node._replace(keys=keys, name=found.name)
    if isinstance(node, tuple) and not hasattr(node, "_fields"):
        return tuple(_rewritten(each, replaced, number) for each in node)
    if not hasattr(node, "_fields") or type(node).__module__ != nodes.__name__:
        return node
    changes = {name: _rewritten(getattr(node, name), replaced, number) for name in node._fields}
    if isinstance(node, (nodes.Let, nodes.ForRange, nodes.ForMap)):
        changes["name"] = _own(node.name, number)
    return type(node)(**changes)


def _type(node: nodes.TypeName, argument: Any) -> nodes.TypeName:
    """A parameter as the name of a type, also as what is behind `struct`."""
    keyword = node.words.rpartition(" ")[0]
    if keyword and isinstance(argument, nodes.TypeName):
        inner = argument.of if isinstance(argument.of, (nodes.TypeName, nodes.Name)) else argument
        name = inner.name if isinstance(inner, nodes.Name) else inner.words
        return node._replace(words=f"{keyword} {name}")
    return node._replace(words="", of=argument)


def _path(part: str, replaced: Mapping[str, Any]) -> tuple[str, ...]:
    """A part of the way to a member, which may be a parameter."""
    node, found = replaced.get(part), []
    while isinstance(node, nodes.Member):
        found.append(node.name)
        node = node.object
    return (node.name, *reversed(found)) if isinstance(node, nodes.Name) else (part,)


def _own(name: str, number: int) -> str:
    """What a variable of the body is called in the program."""
    return f"{name} {number}"


def is_defined(call: nodes.Call, scope: BtScope) -> bool:
    """Whether the program has a macro or function of that name."""
    return call.name in scope.functions or any(name == call.name for name, _ in scope.macros)


def of_items(macros: Sequence[nodes.Macro]) -> dict[tuple[str, int], list[nodes.Macro]]:
    """Macros by their names and numbers of parameters. Raises BtError."""
    found: dict[tuple[str, int], list[nodes.Macro]] = {}
    for each in macros:
        others = found.setdefault((each.name, len(each.parameters)), [])
        if any(_kinds(each) == _kinds(other) for other in others):
            raise BtError(f"Redefinition of macro: {each.name}", each.at)
        others.append(each)
    return found


def _kinds(macro: nodes.Macro) -> list[str]:
    """Of its parameters: maps, variables, and others."""
    return [each[0] if each[0] in "$@" else "" for each in macro.parameters]
