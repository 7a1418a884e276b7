"""What sets variables: `=` with one target or several, `+=` and its like, types written behind names, `del`."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Narrow
from sonde.frontends.python.check.objects import Current, Freed
from sonde.frontends.python.check.signs import Beginning, Compound, Stored, name_of
from sonde.frontends.python.lowering.arithmetic import SPELLED, operation
from sonde.frontends.python.lowering.context import Lowering, is_simple
from sonde.frontends.python.lowering.names import global_name
from sonde.frontends.python.lowering.operands import computed, expression, now, operands
from sonde.frontends.python.lowering.subscripts import subscripted
from sonde.frontends.python.lowering.values import (
    COMPILE_TIME,
    ArrayName,
    Counted,
    Firing,
    Items,
    KnownName,
    Nothing,
    Thread,
    Value,
)
from sonde.typed import cast


def assign(target: ast.expr, node: ast.expr, context: Lowering) -> None:
    """`target = node`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        _unpack(target, node, context)
        return
    if _is_of_itself(target, node, context):
        context.run(Beginning(context.at(node), _place(target, context), context.typed))
    found = context.value(node)
    if isinstance(found, Nothing):
        found = computed(found, node, context)
    if isinstance(found, COMPILE_TIME):
        _bind(target, cast("Value", found), node, context)
        return
    _store(target, found, context)


def _is_of_itself(target: ast.expr, node: ast.expr, context: Lowering) -> bool:
    """Whether a variable that outlives the firing is set to something made of it, or of another element of its."""
    if isinstance(target, ast.Name) and target.id not in context.frame.function.shared:
        return False
    own = ast.unparse(target.value if isinstance(target, ast.Subscript) else target)
    return any(ast.unparse(each) == own for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


def assign_all(node: ast.Assign, context: Lowering) -> None:
    """`a = b = value`, the first target first."""
    found = expression(node.value, context)
    kept = found if isinstance(found, syntax.Integer | syntax.StringLiteral) else context.kept(found)
    for target in node.targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            raise context.mistake(target, "one value is no tuple", "set the variables one by one")
        _store(target, kept, context)


def _store(target: ast.expr, found: syntax.Expr, context: Lowering) -> None:
    """Set a variable, or what else can be set; an integer type that was asked for stays."""
    before = len(context.out)
    place = _place(target, context)
    if len(context.out) > before:
        with context.block() as first:
            found = found if is_simple(found) else context.kept(found)
        context.out[before:before] = first
    if isinstance(found, Narrow):
        narrow(place, found, context)
    else:
        context.set(place, found)
    _note_set(target, context)


def narrow(place: syntax.Expr, found: Narrow, context: Lowering) -> None:
    """Set a variable to a number of a type that it has from now on."""
    name = name_of(place)
    if name is not None and found.type == _UNSIGNED:
        context.typed.add(name)
    context.run(Stored(place.position, place, found, context.typed, True))


def _note_set(target: ast.expr, context: Lowering) -> None:
    frame = context.frame
    if isinstance(target, ast.Name) and target.id in frame.function.own and frame.assigned is not None:
        frame.assigned.add(target.id)


def _place(target: ast.expr, context: Lowering) -> syntax.Expr:
    """What is assigned to. Raises PythonError."""
    if isinstance(target, ast.Name):
        return _variable(target, context)
    if isinstance(target, ast.Attribute):
        of = context.value(target.value)
        if isinstance(of, Firing):
            hint = "the thread's variables are for values: thread.size = ..."
            raise context.mistake(target, "the firing cannot be changed", hint)
        if not isinstance(of, Thread):
            hint = "a probe sets variables, those of `thread`, and elements of tables"
            raise context.mistake(target, f"{context.frame.function.text(target)} cannot be set", hint)
        return computed(context.value(target), target, context)
    if isinstance(target, ast.Subscript):
        found = subscripted(target, context)
        if isinstance(found, Counted):
            spelled = context.frame.function.text(target)
            raise context.mistake(target, "an aggregation is not assigned to", f"count in it: {spelled}.add(...)")
        return computed(found, target, context)
    raise context.mistake(target, "this cannot be assigned to", "set variables one by one")


def _variable(target: ast.Name, context: Lowering) -> syntax.Expr:
    frame, at = context.frame, context.at(target)
    if target.id in frame.function.shared:
        return syntax.Identifier(at, global_name(context.captured, target.id))
    frame.bound.pop(target.id, None)
    return frame.variable(target.id, at)


def _bind(target: ast.expr, found: Value, node: ast.expr, context: Lowering) -> None:
    """A name for something that is known now: the firing, an aggregation, a tuple."""
    frame = context.frame
    sets = sum(
        isinstance(each, ast.Name) and isinstance(target, ast.Name) and each.id == target.id
        and not isinstance(each.ctx, ast.Load)
        for each in ast.walk(frame.function.tree)
    )  # fmt: skip
    if not isinstance(target, ast.Name) or target.id not in frame.function.own or sets != 1:
        computed(found, node, context)
    assert isinstance(target, ast.Name)
    frame.bound[target.id] = now(found, node, context) if isinstance(found, Items) else found


def _unpack(target: ast.Tuple | ast.List, node: ast.expr, context: Lowering) -> None:
    """`a, b = x, y`: all values are there before the first is set."""
    if isinstance(node, ast.Tuple):
        found = operands(node.elts, context)
    else:
        known = context.value(node)
        if not isinstance(known, Items):
            raise context.mistake(node, "this is no tuple", "set the variables one by one")
        found = [computed(each, node, context) for each in known.values]
    if len(found) != len(target.elts):
        raise context.mistake(target, f"{len(target.elts)} variables cannot take {len(found)} values")
    kept = [each if isinstance(each, (syntax.Integer, syntax.StringLiteral)) else context.kept(each) for each in found]
    for each, one in zip(target.elts, kept, strict=True):
        _store(each, one, context)


def _require_fitting(found: syntax.Expr, kind: str, node: ast.AnnAssign, context: Lowering) -> None:
    """Raises PythonError for a constant that the type of the variable does not have: `uint8_t` to `int64_t`."""
    if not isinstance(found, syntax.Integer):
        return
    bits = int(kind.strip("_uint"))
    low, high = (0, (1 << bits) - 1) if kind.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if not low <= found.value <= high:
        spelled = context.frame.function.text(node.annotation)
        hint = f"it has {low} to {high}; {spelled}({found.value}) cuts the number"
        raise context.mistake(node.value or node, f"{found.value} does not fit {spelled}", hint)


def annotated(node: ast.AnnAssign, context: Lowering) -> None:
    """`n: u32 = 5`, and `n: u32` alone, which says nothing before it is set."""
    if node.value is None:
        return
    kind = context.value(node.annotation)
    if isinstance(kind, KnownName) and kind.kind == "type":
        found = expression(node.value, context)
        _require_fitting(found, kind.name, node, context)
        _store(node.target, Narrow(context.at(node.value), kind.name, found), context)
    elif isinstance(kind, KnownName) and kind.kind == "builtin" and kind.name in ("int", "str", "bool"):
        assign(node.target, node.value, context)
    else:
        hint = "types of variables are u8 to u64, i8 to i64, int, str and bool"
        raise context.mistake(node.annotation, "no variable has this type", hint)


_UNSIGNED = "uint64_t"

_AT_ONCE = ("+", "-", "*", "&", "|", "^", "<<", ">>")


def augmented(node: ast.AugAssign, context: Lowering) -> None:
    """`target op= value`."""
    op = SPELLED[type(node.op)]
    if isinstance(node.target, ast.Name) and node.target.id in context.frame.function.own:
        context.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    place = _place(node.target, context)
    if _is_of_itself(node.target, node.value, context):
        context.run(Beginning(context.at(node), place, context.typed))
    before = len(context.out)
    operand = expression(node.value, context)
    is_changed = len(context.out) > before
    at = context.at(node)
    if op in _AT_ONCE and not is_changed:
        operation(op, place, operand, node, context)
        context.run(Compound(at, op, place, operand, context.typed))
        return
    with context.block() as first:
        # What it was before the operand was looked at.
        old = context.kept(Current(at, place))
    context.out[before:before] = first
    context.set(place, operation(op, old, operand, node, context))


def deleted(node: ast.Delete, context: Lowering) -> None:
    """`del thread.start` and `del starts[key]`, which then take no room any more."""
    for each in node.targets:
        if isinstance(each, ast.Name) or isinstance(value_of_table(each, context), Counted):
            hint = "del frees variables of `thread` and elements of associative arrays"
            raise context.mistake(each, "there is nothing to free", hint)
        context.run(Freed(context.at(each), _place(each, context)))


def value_of_table(node: ast.expr, context: Lowering) -> Value | None:
    """What an element is of."""
    found = context.value(node.value) if isinstance(node, ast.Subscript) else None
    return found if isinstance(found, (Counted, ArrayName)) else None
