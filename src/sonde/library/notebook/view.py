"""What a cell shows of a trace, again and again while it goes on."""

from __future__ import annotations

from itertools import islice

from sonde.library.aggregations import LiveAggregation
from sonde.library.events import Record
from sonde.library.notebook.trace import CellTrace
from sonde.library.rich_pictures import FlameGraph, has_stack
from sonde.library.rich_text import aggregation_html, aggregation_text, escaped, rows_html, shown
from sonde.model.records import AggregationSpec
from sonde.typed import Any
from sonde.visible import visible_lines

_RECORDS = 10
"""The last ones that are shown."""

_MOST_PICTURES = 4


class CellView:
    """The trace as it is when it is shown."""

    def __init__(self, trace: CellTrace) -> None:
        self._trace = trace

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}

    @property
    def status(self) -> str:
        """A line about the whole."""
        trace = self._trace
        parts = ["ended" if trace.is_over else "tracing", f"{trace.seconds:.1f} s", f"{trace.were:,} records"]
        if trace.were > len(trace.records):
            parts.append(f"the last {len(trace.records):,} are kept")
        if lost := sum(each.lost for each in trace.losses):
            parts.append(f"{lost:,} lost")
        return " · ".join(parts)

    def html(self) -> str:
        """While it goes on pictures are images, which do not flicker; at the end they are pages."""
        trace = self._trace
        parts = [f'<div style="opacity:0.8">{escaped(self.status)}</div>']
        parts += [f'<div style="color:#b3261e">{escaped(each)}</div>' for each in [*trace.messages][-5:]]
        if trace.error is not None:
            parts.append(f'<div style="color:#b3261e">{escaped(trace.error)}</div>')
        parts += _records(trace.records)
        pictures = 0
        for name, each in trace.aggregations.items():
            rows = each.snapshot()
            parts.append(self._aggregation(each, rows))
            heat = trace.heat_maps.get(name)
            if heat is not None and heat.columns and pictures < _MOST_PICTURES:
                pictures += 1
                picture = heat.picture()
                parts.append(picture.framed() if trace.is_over else picture.image())
        return "\n".join(parts)

    def _aggregation(self, each: LiveAggregation, rows: Any) -> str:
        if has_stack(rows) and isinstance(each.spec, AggregationSpec):
            picture = FlameGraph(each.spec, rows)
            return picture.framed() if self._trace.is_over else picture.image()
        return aggregation_html(each.heading, each.key_names, each.function or "value", rows)

    def text(self) -> str:
        trace = self._trace
        parts = [self.status, *map(shown, trace.messages)]
        if trace.error is not None:
            parts.append(visible_lines(str(trace.error)))
        parts += [record_text(each) for each in _last(trace.records)]
        parts += [aggregation_text(each.heading, each.snapshot()) for each in trace.aggregations.values()]
        return "\n".join(parts)


def record_text(record: Record) -> str:
    """A record in a line."""
    return "  ".join(shown(each).replace("\n", " ") for each in record.values)


def _last(records: Any) -> list[Record]:
    # The thread of the trace appends meanwhile.
    for _ in range(5):
        try:
            return [*islice(reversed(records), _RECORDS)][::-1]
        except RuntimeError:
            continue
    return []


def _records(records: Any) -> list[str]:
    found = _last(records)
    if not found:
        return []
    rows = [(str(each.probe), ", ".join(_named(each))) for each in found]
    return [rows_html(["probe", "values"], rows, len(rows), frozenset())]


def _named(record: Record) -> list[str]:
    pairs = zip(record.names, record.values, strict=True)
    return [f"{name} = {shown(value)}" if name else shown(value) for name, value in pairs]
