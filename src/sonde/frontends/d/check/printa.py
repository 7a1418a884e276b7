"""printa: aggregations of the same keys, and a format that takes the keys one by one."""

from __future__ import annotations

from sonde.frontends.d.check.operands import ActionCall, AggregationUse, Operand
from sonde.frontends.d.check.printf import FormatArguments, format_of
from sonde.frontends.d.check.prototypes import AGGREGATING
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.conversions import Conversion
from sonde.model.errors import Position
from sonde.model.kinds import compatible, spell
from sonde.model.program import Aggregation, Const, Deref, Printa, StringConst
from sonde.model.types import BUILTIN_TYPEDEFS, Pointer, Type


def aggregation_argument(call: ActionCall, number: int, argument: Operand, family: str, scope: Scope) -> Aggregation:
    """Argument `number` as an aggregation that exists; `family` names the tags of the action's messages."""
    if not isinstance(argument, AggregationUse):
        text = f"{call.name}( ) argument #{number} is incompatible with prototype:\n\tprototype: aggregation\n"
        raise DError(f"D_{family}_AGGARG", f"{text}\t argument: {spell(argument.type)}", call.position)
    entry = scope.aggregations.get(argument.name)
    if entry is None:
        raise DError(f"D_{family}_AGGBAD", f"undefined aggregation: @{argument.name}", call.position)
    return entry.aggregation


def printa(call: ActionCall, scope: Scope) -> Printa:
    first = call.arguments[0]
    conversions = None
    listed = call.arguments
    if isinstance(first, StringConst):
        listed = listed[1:]
        if not listed:
            raise DError("D_PRINTA_PROTO", "printa( ) prototype mismatch: 1 args passed, 2 expected", call.position)
        conversions = format_of("printa", first, call.position)
    start = len(call.arguments) - len(listed) + 1
    aggregations = tuple(
        aggregation_argument(call, number, argument, "PRINTA", scope) for number, argument in enumerate(listed, start)
    )
    for other in aggregations[1:]:
        _check_same_keys(aggregations[0], other, call.position)
    if conversions is not None:
        _check_keys(conversions, aggregations[0], call.position)
    return Printa(call.position, conversions, aggregations)


def _check_keys(conversions: tuple[Conversion, ...], first: Aggregation, position: Position) -> None:
    """The conversions without `@` print the keys; there may be more keys than those."""
    samples = tuple(Deref(kind, position, Const(Pointer(kind), position, 0)) for kind in first.keys)
    shown = BUILTIN_TYPEDEFS[AGGREGATING[first.function].result]
    FormatArguments("printa", samples, position).match(conversions, shown)


def _count(keys: tuple[Type, ...]) -> str:
    return f"{len(keys)} key" if len(keys) == 1 else f"{len(keys)} keys"


def _check_same_keys(first: Aggregation, other: Aggregation, position: Position) -> None:
    if len(first.keys) != len(other.keys):
        text = (
            f"printa( ): @{first.name} and @{other.name} do not have matching key signatures: "
            f"@{first.name} has {_count(first.keys)}, @{other.name} has {_count(other.keys)}"
        )
        raise DError("D_PRINTA_AGGKEY", text, position)
    for number, (a, b) in enumerate(zip(first.keys, other.keys, strict=True), 1):
        if not compatible(a, b):
            text = (
                f"printa( ): @{other.name}[ ] key #{number} is incompatible with @{first.name}:\n"
                f"{first.name:>9} key #{number}: {spell(a)}\n{other.name:>9} key #{number}: {spell(b)}"
            )
            raise DError("D_PRINTA_AGGPROTO", text, position)
