"""Aggregations, as probe functions count in them."""

from __future__ import annotations

import builtins
from typing import overload

from sonde.typed import TYPE_CHECKING, Any


class ProbeAggregation:
    """An aggregation of a program: `add` counts in it, for a key or for none. In `run.aggregations` it has the name of
    the variable that it was captured by."""

    def __init__(self, function: str, title: str, parameters: tuple[int, ...] = ()) -> None:
        if not isinstance(title, str):
            raise TypeError(f"the title of an aggregation is a text, not {title!r}")
        self.function = function
        self.title = title
        self.parameters = parameters

    if TYPE_CHECKING:

        def __getitem__(self, key: Any) -> ProbeAggregation: ...
        def add(self, value: Any = ..., weight: Any = ...) -> None:
            """Count a value in; with `weight` in a distribution as often."""

    else:

        def __getitem__(self, key):
            raise TypeError("this aggregation is counted in by probes; a run has what came of it: run.aggregations")

        def add(self, *arguments, **named):
            return self[()]

    def __repr__(self) -> str:
        return f"<sonde.{self.function}({self.title!r}), for probe functions>"


def _made_or_own(function: str, first: Any, more: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if not more and not named and isinstance(first, str):
        return ProbeAggregation(function, first)
    if not more and named.keys() == {"title"} and first == "":
        return ProbeAggregation(function, named["title"])
    return getattr(builtins, function)(first, *more, **named)


def count(title: str = "") -> ProbeAggregation:
    """How often `add()` was called."""
    return ProbeAggregation("count", title)


@overload
def sum(title: str = "") -> ProbeAggregation: ...
@overload
def sum(first: Any, /, *more: Any, **named: Any) -> Any: ...
def sum(first: Any = "", /, *more: Any, **named: Any) -> Any:
    """The sum of all values. Of anything but a title: Python's own function (`from sonde import *`)."""
    return _made_or_own("sum", first, more, named)


def avg(title: str = "") -> ProbeAggregation:
    """Their mean."""
    return ProbeAggregation("avg", title)


@overload
def min(title: str = "") -> ProbeAggregation: ...
@overload
def min(first: Any, /, *more: Any, **named: Any) -> Any: ...
def min(first: Any = "", /, *more: Any, **named: Any) -> Any:
    """The smallest. Of anything but a title: Python's own function (`from sonde import *`)."""
    return _made_or_own("min", first, more, named)


@overload
def max(title: str = "") -> ProbeAggregation: ...
@overload
def max(first: Any, /, *more: Any, **named: Any) -> Any: ...
def max(first: Any = "", /, *more: Any, **named: Any) -> Any:
    """The largest. Of anything but a title: Python's own function (`from sonde import *`)."""
    return _made_or_own("max", first, more, named)


def stddev(title: str = "") -> ProbeAggregation:
    """Their standard deviation."""
    return ProbeAggregation("stddev", title)


def quantize(title: str = "") -> ProbeAggregation:
    """How many values there are in each range between two powers of two."""
    return ProbeAggregation("quantize", title)


def lquantize(title: str = "", *, base: int, limit: int, step: int = 1) -> ProbeAggregation:
    """How many there are in each range of `step` numbers from `base` to `limit`."""
    return ProbeAggregation("lquantize", title, (base, limit, step))


def llquantize(title: str = "", *, factor: int, low: int, high: int, steps: int) -> ProbeAggregation:
    """How many there are in each of `steps` ranges between powers of `factor`, from the power `low` to `high`."""
    return ProbeAggregation("llquantize", title, (factor, low, high, steps))
