"""Which metric each aggregation of a program becomes, and each array that is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sonde.library.export.names import MetricNames, label_names
from sonde.library.export.wanted import ExportRequest
from sonde.model.aggregating import function_of
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.model.spec import TracingSpec
from sonde.typed import NamedTuple

COUNTER, GAUGE, SUMMARY, HISTOGRAM = "counter", "gauge", "summary", "histogram"
"""Types of metrics, as Prometheus calls them."""

_KINDS = {"count": COUNTER, "sum": COUNTER, "avg": SUMMARY}


class Family(NamedTuple):
    """A metric: its name, type, help, and labels; `spec` is what it shows, by its `number` among the program's
    aggregations or arrays."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]
    spec: AggregationSpec | ArraySpec
    number: int

    @property
    def is_cumulative(self) -> bool:
        """Whether it has all that was ever counted, whatever the program has cleared: the others show the present."""
        return self.kind != GAUGE


class Unexported(NamedTuple):
    """An aggregation or array that is no metric, and why."""

    name: str
    reason: str


def shown_name(spec: AggregationSpec | ArraySpec) -> str:
    """As the program has it."""
    return f"@{'' if spec.name == '_' else spec.name.removeprefix('@')}"


def families(spec: TracingSpec, taken: Sequence[str], request: ExportRequest) -> tuple[list[Family], list[Unexported]]:
    """The metrics of a program, and what is none. `taken` are names of metrics that there are already."""
    names = MetricNames(request.prefix, taken)
    made: list[Family] = []
    unexported: list[Unexported] = []
    every: list[tuple[int, AggregationSpec | ArraySpec]] = [*enumerate(spec.aggregations), *enumerate(spec.arrays)]
    for number, each in every:
        reason = _why_not(each, request.left_out)
        if reason:
            unexported.append(Unexported(shown_name(each), reason))
        else:
            made.append(_family(each, number, names, request))
    return made, unexported


def _why_not(spec: AggregationSpec | ArraySpec, left_out: Collection[str]) -> str:
    if spec.name in left_out:
        return "a series of moments is no metric"
    if isinstance(spec, ArraySpec) and spec.value.kind != "int":
        return "its values are no numbers"
    return ""


def _family(spec: AggregationSpec | ArraySpec, number: int, names: MetricNames, request: ExportRequest) -> Family:
    kind = GAUGE if isinstance(spec, ArraySpec) else _kind(spec, request.gauges)
    function = "" if isinstance(spec, ArraySpec) else request.functions.get(spec.name, spec.function)
    plain = spec.name.removeprefix("@")
    name = names.name((function or "value") if plain in ("_", "") else plain, kind == COUNTER)
    parts = [*spec.key_names] or [""] * len(spec.keys)
    key = f"[{', '.join(part or '...' for part in parts)}]" if parts else ""
    shown = f"{shown_name(spec)}{key}" + (f" = {function}()" if function else "")
    if isinstance(spec, AggregationSpec) and spec.title:
        shown = f"{spec.title}: {shown.removeprefix('@')}"
    return Family(name, kind, shown, label_names(parts), spec, number)


def _kind(spec: AggregationSpec, gauges: Collection[str]) -> str:
    if function_of(spec).number is None:
        return HISTOGRAM
    if spec.name in gauges:
        return GAUGE
    return _KINDS.get(spec.function, GAUGE)
