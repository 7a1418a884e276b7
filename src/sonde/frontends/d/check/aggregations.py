"""`@name[keys] = function(arguments);`: keys, values and the constants of the quantizing functions."""

from __future__ import annotations

from sonde.frontends.d.check.assignments import stored
from sonde.frontends.d.check.folding import constant_value
from sonde.frontends.d.check.operands import ActionCall, AggregationUse, Operand, require_aggregating, value_of
from sonde.frontends.d.check.prototypes import AGGREGATING
from sonde.frontends.d.check.scope import AggregationEntry, Scope
from sonde.frontends.d.check.variables import check_keys, key_value
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import is_scalar
from sonde.model.program import Aggregate, Aggregation, Expr


def aggregate(use: AggregationUse, assigned: Operand, scope: Scope, position: Position) -> Aggregate:
    """The statement that feeds `assigned` to the aggregation."""
    assigned = require_aggregating(use.name, assigned, position)
    keys = tuple(scope.evaluate(key, scope) for key in use.keys or ())
    known = scope.aggregations.get(use.name)
    if known is not None:
        _check_function(known, assigned.name, position)
        what = f"@{use.name}[ ]"
        check_keys(what, known.aggregation.keys, keys, use.position)
    values = tuple(key_value(key, "aggregation", number, use.position) for number, key in enumerate(keys, 1))
    value, parameters, increment = _value(assigned), _parameters(assigned, known), _increment(assigned)
    if known is None:
        kinds = tuple(v.type for v in values)
        number = len(scope.aggregations)
        made = Aggregation(use.name, number, assigned.name, parameters, kinds, title=use.title)
        known = scope.aggregations[use.name] = AggregationEntry(made, position)
        scope.origins[use.name] = position
    converted = tuple(stored(v, kind) for v, kind in zip(values, known.aggregation.keys, strict=True))
    return Aggregate(position, known.aggregation, converted, value, increment)


def _check_function(known: AggregationEntry, function: str, position: Position) -> None:
    aggregation = known.aggregation
    if aggregation.function != function:
        name = aggregation.name
        text = (
            f"aggregation redefined: @{name}\n\t current: @{name} = {function}( )\n"
            f"\tprevious: @{name} = {aggregation.function}( ) : line {known.position.line}"
        )
        raise DError("D_AGG_REDEF", text, position)


def _value(call: ActionCall) -> Expr | None:
    if not call.arguments:
        return None
    if not is_scalar(call.arguments[0].type):
        raise DError("D_AGG_SCALAR", f"{call.name}( ) argument #1 must be of scalar type", call.position)
    return value_of(call.arguments[0])


def _increment(call: ActionCall) -> Expr | None:
    """What a value counts for, the last argument of the quantizing functions."""
    index = AGGREGATING[call.name].weight
    if index is None or index >= len(call.arguments):
        return None
    if not is_scalar(call.arguments[index].type):
        text = f"{call.name}( ) increment value (argument #{index + 1}) must be of scalar type"
        raise DError("D_PROTO_ARG", text, call.position)
    given, most = len(call.arguments), index + 1
    if given > most:
        text = f"{call.name}( ) prototype mismatch: {given} args passed, at most {most} expected"
        raise DError("D_PROTO_LEN", text, call.position)
    return value_of(call.arguments[index])


def _parameters(call: ActionCall, known: AggregationEntry | None) -> tuple[int, ...]:
    find = AGGREGATING[call.name].constants
    if find is None:
        return ()
    previous = known.aggregation.parameters if known else None
    return find([constant_value(argument) for argument in call.arguments], previous, call.position)
