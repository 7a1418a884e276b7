"""Names: of the function's own variables, of variables of modules, and of what was captured."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.python.captured import SHARED, CapturedFunction, Meaning
from sonde.frontends.python.lowering.context import FunctionFrame, Lowering, encoded, integer
from sonde.frontends.python.lowering.values import (
    ArrayName,
    Code,
    Counted,
    Items,
    KernelData,
    KnownName,
    Nothing,
    Outside,
    Thread,
    Value,
)
from sonde.model.errors import Position


def global_name(captured: CapturedFunction, name: str) -> str:
    """What the program calls a variable that the function shares with others: no other module has one like it."""
    return captured.cells.get(name) or f"{captured.module}{SHARED}{name}"


def named(node: ast.Name, context: Lowering) -> Value:
    frame, name = context.frame, node.id
    if name in frame.bound:
        return frame.bound[name]
    at = context.at(node)
    if name in frame.function.own:
        _require_set(node, frame, context)
        return frame.variable(name, at)
    whole = global_name(context.captured, name)
    if whole in context.written:
        return syntax.Identifier(at, whole)
    return meant(context.captured.names.get(name), name, node, context)


def _require_set(node: ast.Name, frame: FunctionFrame, context: Lowering) -> None:
    if frame.assigned is not None and node.id not in frame.assigned:
        hint = f"set it before: {node.id} = 0"
        raise context.mistake(node, f"{node.id} is not set on every way to this place", hint)


def dotted(node: ast.expr) -> tuple[str, str] | None:
    """The first name and the whole of `a.b.c`, None of anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return node.id, ".".join([node.id, *reversed(names)])


def captured_path(node: ast.Attribute, context: Lowering) -> Value | None:
    """What `module.name` means where it was captured, None where it is no name of that kind."""
    found = dotted(node)
    if found is None or found[0] in context.frame.function.own or found[0] in context.frame.bound:
        return None
    meaning = context.captured.names.get(found[1])
    return None if meaning is None else meant(meaning, found[1], node, context)


def meant(meaning: Meaning | None, name: str, node: ast.expr, context: Lowering) -> Value:
    if meaning is None:
        raise context.mistake(node, f"{name} is not defined", "")
    if meaning.kind == "missing":
        hint = meaning.value or "define it before the probe is run"
        raise context.mistake(node, f"{name} is not defined", hint)
    return _value(meaning, context.at(node))


def _value(meaning: Meaning, at: Position) -> Value:
    kind, value = meaning
    match kind:
        case "integer":
            return integer(value, at)
        case "text":
            return syntax.StringLiteral(at, encoded(value, at))
        case "none":
            return Nothing()
        case "tuple":
            return Items(tuple(_value(each, at) for each in value))
        case "function":
            return Code(value)
        case "aggregation":
            return Counted(value)
        case "table":
            return ArrayName(value)
        case "thread":
            return Thread()
        case "kernel":
            return KernelData()
        case "subroutine" | "type" | "word" | "builtin" | "maker":
            return KnownName(kind, value)
    return Outside(str(value))
