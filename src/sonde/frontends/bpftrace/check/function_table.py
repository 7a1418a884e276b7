"""Which function checks a call, beside those of `calls.py`, and how many arguments it takes."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check import deferred, elements, numbers, shown_numbers
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.program import Expr, Statement
from sonde.typed import NamedTuple, TypeAlias

Check: TypeAlias = Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]


class ValueCall(NamedTuple):
    """A function with a value: the fewest and most arguments, and what checks it."""

    least: int
    most: int
    check: Check


VALUES: dict[str, ValueCall] = {
    "strftime": ValueCall(2, 2, shown_numbers.strftime),
    "strerror": ValueCall(1, 1, shown_numbers.strerror),
    "signal_name": ValueCall(1, 1, shown_numbers.signal_name),
    "macaddr": ValueCall(1, 1, shown_numbers.macaddr),
    "ntop": ValueCall(1, 2, shown_numbers.ntop),
    "bswap": ValueCall(1, 1, numbers.bswap),
    "uptr": ValueCall(1, 1, numbers.of_space(True)),
    "kptr": ValueCall(1, 1, numbers.of_space(False)),
    "nsecs": ValueCall(0, 1, numbers.clock),
    "len": ValueCall(1, 1, elements.length),
    "find": ValueCall(3, 3, elements.find),
    "ppid": ValueCall(0, 1, numbers.parent),
}

ACTIONS: dict[str, Callable[[nodes.Call, BtScope], Statement]] = {
    "cat": deferred.cat, "time": deferred.time, "warnf": deferred.complaint, "errorf": deferred.complaint,
}  # fmt: skip
