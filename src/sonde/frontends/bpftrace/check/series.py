"""tseries(): numbers over time, as a map whose last key is the interval of the clock.

The values of an interval are one aggregation of an element that is found by the map's own keys and the number of the
interval, so they are added up for each CPU as all others are. Without an aggregating function the last value of an
interval is an element of an array. Both are maps that let go of what was not written to for longest: intervals end, and
a program that runs on has room for those that come.
"""

from __future__ import annotations

import os

from sonde.frontends.bpftrace.check.conversions import (
    arguments_spelled,
    constant,
    constant_value,
    converted,
    integer_value,
    literal_text,
)
from sonde.frontends.bpftrace.check.maps import keys_of
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT64
from sonde.frontends.bpftrace.check.unstable import require_enabled
from sonde.frontends.bpftrace.series import FUNCTIONS, LAST, MODEL, MOST_ELEMENTS
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Aggregation, Expr, Statement
from sonde.model.types import is_signed

_CLOCK = "BPFTRACE_DUMMY_TS_MAP"
"""An environment variable with the name of a map that is asked for the time, by which bpftrace's tests set it."""


def series(target: nodes.MapName, call: nodes.Call, scope: BtScope) -> Statement:
    """`@target = tseries(value, interval, intervals, [function])`."""
    arguments = [each for each in call.arguments if not isinstance(each, nodes.TypeName)]
    if not 3 <= len(arguments) <= 4:
        few = "at least" if len(arguments) < 3 else "up to"
        wanted = f"{few} {arguments_spelled(3 if len(arguments) < 3 else 4)}"
        raise scope.mistake(f"tseries() requires {wanted} ({len(arguments)} provided)", call.at)
    require_enabled("tseries", "unstable_tseries", call.at, scope)
    use = scope.map(target.name, target.at)
    keys = keys_of(target, scope, use)
    scope.learn_function(use, "tseries", _parameters(call, arguments, scope), call.at)
    value = integer_value(arguments[0], scope, "tseries()")
    if is_signed(value.type) and not use.is_signed:
        use.is_signed = scope.known.changed = True
    at = scope.at(call.at)
    interval = tree.Binary(UINT64, at, "/", _time(call, scope), constant(use.parameters[0], at, UINT64))
    storage = scope.storage(use)
    if isinstance(storage, Aggregation):
        return tree.Aggregate(at, storage, (*keys, interval), value)
    place = tree.Element(storage.type, at, storage, (*keys, interval))
    return tree.Evaluate(at, tree.Assign(storage.type, at, place, converted(value, storage.type)))


def _time(call: nodes.Call, scope: BtScope) -> Expr:
    """Nanoseconds since 1970."""
    name = os.environ.get(_CLOCK)
    if name:
        return converted(scope.expression(nodes.MapName(call.at, name, None), scope), UINT64)
    return tree.Builtin(UINT64, scope.at(call.at), "walltimestamp")


def _parameters(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> tuple[int, ...]:
    interval, intervals = (constant_value(each, scope, "tseries()") for each in arguments[1:3])
    for name, value in (("interval_ns", interval), ("num_intervals", intervals)):
        if value <= 0:
            raise scope.mistake(f"tseries() {name} must be >= 1 ({value} provided)", call.at)
    if intervals > MOST_ELEMENTS:
        raise scope.mistake(f"tseries() num_intervals must be <= {MOST_ELEMENTS} ({intervals} provided)", call.at)
    function = LAST
    if len(arguments) > 3:
        function = literal_text(arguments[3], scope, "tseries()", call.at).decode(errors="surrogateescape")
        if function not in MODEL:
            known = ", ".join(sorted(MODEL))
            text = f"tseries() expects one of the following aggregation functions: {known}"
            raise scope.mistake(f'{text} ("{function}" provided)', call.at)
    return interval, intervals, FUNCTIONS.index(function)
