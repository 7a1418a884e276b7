"""Heat maps of a histogram over time, as an HTML page or an SVG: a column each look, a row each bucket."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from sonde.model.records import AggregationSpec
from sonde.pictures.colours import LEVELS, style
from sonde.pictures.heat import Cells, Heat, everything
from sonde.pictures.heat_rows import HeatRows, rows_of
from sonde.pictures.heat_view import heat_view
from sonde.pictures.page import html_page, svg_file, when
from sonde.typed import Any, NamedTuple


class HeatMap(NamedTuple):
    """What is drawn. `names` are those of the heat's keys, `began` is in ns since 1970."""

    spec: AggregationSpec
    heat: Heat
    names: Sequence[str]
    began: int


def heatmap_html(drawn: HeatMap) -> str:
    """A page with the picture."""
    data = heatmap_data(drawn)
    return html_page(data["title"], data, "heatmap.js", style("h"))


def heatmap_svg(drawn: HeatMap) -> str:
    """The same as an SVG that stands alone."""
    data = heatmap_data(drawn)
    return svg_file(data["title"], data, "heatmap.js", style("h"), heat_view(data))


def heatmap_data(drawn: HeatMap) -> dict[str, Any]:
    """What the page's script draws: `edges` of columns in ns, `rows` from below as (value, values), and for each key
    its name, then column, row, count and level of each cell, one after the other; the first is of all keys."""
    heat = drawn.heat
    whole = everything(heat)
    rows = rows_of(drawn.spec, {bucket for _, bucket in whole})
    series = [["all", _cells(whole, rows, heat.edges)]]
    if drawn.spec.keys:
        named = [(name, heat.keys[key]) for name, key in zip(drawn.names, heat.keys, strict=True)]
        if heat.others:
            named.append(("all others", heat.others))
        series += [[name, _cells(cells, rows, heat.edges)] for name, cells in named]
    name = "" if drawn.spec.name == "_" else drawn.spec.name
    return {
        "title": f"Heat map of @{name}",
        "subtitle": _subtitle(drawn, rows),
        "edges": list(heat.edges),
        "rows": [list(each) for each in rows.labels],
        "series": series,
    }


def _cells(cells: Cells, rows: HeatRows, edges: Sequence[int]) -> list[int]:
    joined: Cells = {}
    for (column, bucket), number in cells.items():
        place = column, rows.row(bucket)
        joined[place] = joined.get(place, 0) + number
    levels = levels_of(joined, edges)
    return [number for place in sorted(joined) for number in (*place, joined[place], levels[place])]


def levels_of(cells: Cells, edges: Sequence[int]) -> dict[tuple[int, int], int]:
    """The colour of each cell, 1 to LEVELS: as the root of its counts a second, since columns differ in length."""
    rates = {place: number / max(edges[place[0] + 1] - edges[place[0]], 1) for place, number in cells.items()}
    most = max(rates.values(), default=1.0)
    return {place: max(1, ceil(LEVELS * sqrt(rate / most) - 1e-9)) for place, rate in rates.items()}


def _subtitle(drawn: HeatMap, rows: HeatRows) -> str:
    heat = drawn.heat
    columns = len(heat.edges) - 1
    parts = [
        f"{heat.total:,} values by {drawn.spec.function}()",
        f"{columns:,} column{'' if columns == 1 else 's'} in {when(drawn.began, heat.edges[-1] - heat.edges[0])}",
    ]
    if rows.together > 1:
        parts.append(f"{rows.together} buckets in a row")
    if heat.taken_back:
        parts.append(f"{heat.taken_back:,} of negative increments not shown")
    if not heat.total:
        parts.append("nothing was counted")
    return " · ".join(parts)
