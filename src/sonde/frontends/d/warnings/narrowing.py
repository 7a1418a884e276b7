"""Values that a variable or a key cannot hold, because its first assignment or use gave it a narrower type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sonde.frontends.d.warnings.calls import ARGUMENTS, RETURN_ADDRESSES, WRITTEN
from sonde.frontends.d.warnings.warning import Warning
from sonde.model.errors import Position
from sonde.model.kinds import is_integer, spell
from sonde.model.probe import Syscall
from sonde.model.program import (
    Aggregate,
    Assign,
    Binary,
    Builtin,
    Call,
    Cast,
    Clause,
    Comma,
    Conditional,
    Const,
    Element,
    Expr,
    Unary,
    Var,
    Variable,
)
from sonde.model.types import LONG, ULONG, Type, is_signed, size_of
from sonde.model.walk import nodes
from sonde.typed import TypeAlias

Origins: TypeAlias = Mapping[object, Position]
"""Where variables, by their ids, and aggregations, by their names, came into being without being declared."""

_CLOCKS = ("timestamp", "vtimestamp", "walltimestamp")

_OF_CLOCK, _OF_DIFFERENCE = 61, 50
"""Bits of a time since 1970 in nanoseconds, and of a difference of two: thirteen days."""

_LENGTHS = ("strlen", "index", "rindex")
_OF_LENGTH = 24
_OF_ARGUMENT = 31
"""Descriptors, flags, errors and sizes: system calls take and return few larger numbers but for addresses."""

_TRUTHS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||", "^^")
_WORD = 64
_RARE = 1_000_000
"""Who divides by as much has made milliseconds or more of nanoseconds: they fit for three weeks."""


def cut_values(clause: Clause, origins: Origins) -> Iterator[Warning]:
    """What is assigned, or used as a key, and does not fit."""
    for node in nodes(clause):
        if isinstance(node, Assign) and isinstance(node.target, (Var, Element)):
            yield from _assigned(node, node.target, clause, origins)
        if isinstance(node, Element) and node.variable.id in origins:
            remedy = f"declare it before the clauses: {_with_wide_keys(node)}"
            yield from _keys(node.variable.name, node.keys, clause, origins[node.variable.id], remedy)
        if isinstance(node, Aggregate) and node.aggregation.name in origins:
            name = f"@{node.aggregation.name}"
            remedy = "cast the key where it is first used: (int64_t)key"
            yield from _keys(name, node.keys, clause, origins[node.aggregation.name], remedy)


def _assigned(node: Assign, target: Var | Element, clause: Clause, origins: Origins) -> Iterator[Warning]:
    variable = target.variable
    if variable.id not in origins or not is_integer(variable.type):
        return
    value = _bare(node.value)
    kept = 8 * size_of(variable.type)
    # What is added up may be small, its sum is not.
    is_sum = node.op == "+" and not isinstance(value, Const)
    needed = 8 * size_of(value.type) if is_sum else _bits(value, clause)
    if kept >= min(needed, 8 * size_of(value.type)) or node.op in ("&", "%", ">>", "/"):
        return
    kind = _kind(value)
    text = (
        f"{_named(variable)} keeps {kept} bits of this: it is of type {spell(variable.type)} "
        f"since {_at(origins[variable.id])}"
    )
    yield Warning(target.position, text, f"declare it before the clauses: {declaration(variable, kind)}")


def _keys(name: str, keys: tuple[Expr, ...], clause: Clause, first: Position, remedy: str) -> Iterator[Warning]:
    for number, key in enumerate(keys, 1):
        if not isinstance(key, Cast) or key.position != key.operand.position or not is_integer(key.type):
            # A cast of the user's begins before its operand.
            continue
        kept = 8 * size_of(key.type)
        if is_integer(key.operand.type) and kept < min(_bits(key.operand, clause), 8 * size_of(key.operand.type)):
            text = (
                f"key {number} of {name} keeps {kept} bits of this: it is of type {spell(key.type)} since {_at(first)}"
            )
            yield Warning(key.position, text, remedy)


def _at(position: Position) -> str:
    return f"{position.line}:{position.column}"


def _named(variable: Variable) -> str:
    name = variable.name if variable.scope == "global" else f"{variable.scope}->{variable.name}"
    return name if variable.keys is None else f"{name}[]"


def declaration(variable: Variable, kind: Type) -> str:
    """The declaration of a variable that is to hold values of type `kind`."""
    prefix = "" if variable.scope == "global" else f"{variable.scope} "
    keys = "" if variable.keys is None else f"[{', '.join(map(spell, variable.keys))}]"
    return f"{prefix}{spell(kind)} {variable.name}{keys};"


def _with_wide_keys(node: Element) -> str:
    keys = node.variable.keys or ()
    wide = tuple(_kind(_bare(each)) if is_integer(kind) else kind for each, kind in zip(node.keys, keys, strict=True))
    return declaration(node.variable._replace(keys=wide), node.variable.type)


def _kind(value: Expr) -> Type:
    return value.type if size_of(value.type) == size_of(LONG) else LONG if is_signed(value.type) else ULONG


def _bare(value: Expr) -> Expr:
    """Without the conversions that the checker has put around it."""
    while isinstance(value, Cast) and value.position == value.operand.position and is_integer(value.operand.type):
        value = value.operand
    return value


def _bits(e: Expr, clause: Clause) -> int:
    """How many bits of a value there may be in earnest, its sign apart; 64 where nothing is known."""
    if isinstance(e, Const):
        return abs(e.value).bit_length()
    if isinstance(e, Cast):
        return min(8 * size_of(e.type), _bits(e.operand, clause)) if is_integer(e.operand.type) else _WORD
    if isinstance(e, Binary):
        return min(_of_binary(e, clause), _WORD)
    if isinstance(e, Unary):
        return 1 if e.op == "!" else _bits(e.operand, clause)
    if isinstance(e, Conditional):
        return max(_bits(e.then, clause), _bits(e.otherwise, clause))
    if isinstance(e, Comma):
        return _bits(e.right, clause)
    if isinstance(e, Assign) and e.op is None:
        return _bits(e.value, clause)
    if isinstance(e, Call) and e.name in _LENGTHS:
        return _OF_LENGTH
    if isinstance(e, Builtin):
        return _of_builtin(e, clause)
    return 8 * size_of(e.type)


def _of_builtin(e: Builtin, clause: Clause) -> int:
    if e.name in _CLOCKS:
        return _OF_CLOCK
    calls = [probe.firing for probe in clause.probes if isinstance(probe.firing, Syscall)]
    if e.name in ARGUMENTS and calls and len(calls) == len(clause.probes):
        is_address = any(_is_address(ARGUMENTS[e.name], each) for each in calls)
        return _WORD if is_address else _OF_ARGUMENT
    return 8 * size_of(e.type)


def _is_address(number: int, call: Syscall) -> bool:
    """Whether an argument, or what is returned, is an address."""
    if call.is_return:
        return call.name in RETURN_ADDRESSES
    return number in WRITTEN.get(call.name, ()) or (number < 6 and bool(call.inputs >> number & 1))


def _of_binary(e: Binary, clause: Clause) -> int:
    left, right = _bits(e.left, clause), _bits(e.right, clause)
    count = _bare(e.right)
    constant = count.value if isinstance(count, Const) else None
    if e.op in _TRUTHS:
        return 1
    if (e.op == "-" and _WORD > max(left, right) >= _OF_CLOCK) or (e.op == "-" and _has_clock(e)):
        return _OF_DIFFERENCE
    if e.op == "&":
        return min(left, right)
    if e.op == "%":
        return right
    if e.op == "/" and constant:
        return 0 if abs(constant) >= _RARE else left - abs(constant).bit_length() + 1
    if e.op == ">>" and constant is not None:
        return left - (constant & 63)
    if e.op == "*":
        return left + right
    if e.op == "<<":
        return left + (constant if constant is not None else _WORD)
    return max(left, right) + (e.op in "+-")


def _has_clock(e: Binary) -> bool:
    return any(isinstance(each, Builtin) and each.name in _CLOCKS for each in (_bare(e.left), _bare(e.right)))
