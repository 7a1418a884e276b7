"""Aggregating functions, which are assigned to maps."""

from __future__ import annotations

from sonde.frontends.bpftrace.check import series
from sonde.frontends.bpftrace.check.aggregating import ARGUMENTS
from sonde.frontends.bpftrace.check.conversions import arguments_spelled, constant_value, integer_value
from sonde.frontends.bpftrace.check.maps import keys_of
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.buckets import FINEST
from sonde.model.program import Statement
from sonde.model.types import is_signed


def aggregate(target: nodes.Expr, call: nodes.Expr, scope: BtScope) -> Statement:
    """`@target = function(...)`."""
    assert isinstance(call, nodes.Call)
    if not isinstance(target, nodes.MapName):
        raise scope.mistake(f"{call.name}() must be assigned directly to a map", call.at)
    if call.name == "tseries":
        return series.series(target, call, scope)
    wanted, given = ARGUMENTS[call.name], len(call.arguments)
    if given != wanted and not (call.name == "hist" and given == wanted + 1):
        text = f"{call.name}() requires {arguments_spelled(wanted)}"
        raise scope.mistake(f"{text} ({given} provided)", call.at)
    outer, scope.call = scope.call, call.at
    use = scope.map(target.name, target.at)
    keys = keys_of(target, scope, use)
    arguments = [each for each in call.arguments if not isinstance(each, nodes.TypeName)]
    parameters = _parameters(call, arguments, scope)
    scope.learn_function(use, call.name, parameters, call.at)
    value = None
    if wanted:
        value = integer_value(arguments[0], scope, f"{call.name}()")
        if is_signed(value.type) and not use.is_signed:
            use.is_signed = scope.known.changed = True
    scope.call = outer
    return tree.Aggregate(scope.at(call.at), scope.aggregation(use), keys, value)


def _parameters(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> tuple[int, ...]:
    constants = [constant_value(each, scope, f"{call.name}()") for each in arguments[1:]]
    if call.name == "hist":
        bits = constants[0] if constants else 0
        if not 0 <= bits <= FINEST:
            raise scope.mistake(f"hist: bits {bits} must be 0..{FINEST}", call.at)
        return (bits,) if bits else ()
    if call.name != "lhist":
        return ()
    low, high, step = constants
    for name, value in (("min", low), ("max", high)):
        if value < 0:
            raise scope.mistake(f"lhist: invalid {name} value (must be non-negative literal)", call.at)
    if step <= 0:
        raise scope.mistake(f"lhist() step must be >= 1 ({step} provided)", call.at)
    if low >= high:
        raise scope.mistake(f"lhist() min must be less than max (provided min {low} and max {high})", call.at)
    if high - low < step:
        text = f"lhist() step is too large for the given range (provided step {step} for range {high - low})"
        raise scope.mistake(text, call.at)
    if (high - low) // step > _MOST_LEVELS:
        raise scope.mistake(
            f"lhist() too many buckets, must be <= {_MOST_LEVELS} (would need {(high - low) // step})", call.at
        )
    return low, high, step


_MOST_LEVELS = 1000
