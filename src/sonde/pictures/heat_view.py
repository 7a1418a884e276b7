"""A heat map without a script: what an SVG shows as an image."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.model.units import SECOND
from sonde.pictures.colours import fill
from sonde.pictures.page import Static, text_element
from sonde.typed import Any

_WIDTH = 1200
_MARGIN = 12
_TOP = 58
_AXIS = 30
_CHARACTER = 7.23
_HEIGHT = 420
_LEAST_ROW, _MOST_ROW = 4, 24
_TICKS = 8


def heat_view(data: dict[str, Any]) -> Static:
    """All keys over the whole time."""
    rows = data["rows"]
    row = max(_LEAST_ROW, min(_MOST_ROW, _HEIGHT // len(rows)))
    left = _MARGIN + _CHARACTER * max(len(label) for label, _ in rows) + 8
    bottom = _TOP + row * len(rows)
    content = text_element(_MARGIN, 24, data["title"], ' font-weight="bold" style="font-size: 15px"')
    content += text_element(_MARGIN, 43, data["subtitle"])
    content += _cells(data, left, bottom, row)
    content += "".join(_row_labels(rows, left, bottom, row))
    content += "".join(_times(data["edges"], left, bottom))
    return Static(_WIDTH, bottom + _AXIS + _MARGIN, content)


def _cells(data: dict[str, Any], left: float, bottom: int, row: int) -> str:
    """All cells of a colour are one path."""
    edges, numbers = data["edges"], data["series"][0][1]
    scale = (_WIDTH - _MARGIN - left) / max(edges[-1] - edges[0], 1)
    paths: dict[int, list[str]] = {}
    for at in range(0, len(numbers), 4):
        column, place, _, level = numbers[at : at + 4]
        x, width = left + (edges[column] - edges[0]) * scale, (edges[column + 1] - edges[column]) * scale
        width = max(width - (0.6 if width > 4 else 0), 0.5)
        outline = f"M{x:.1f} {bottom - (place + 1) * row}h{width:.1f}v{row - 0.6:g}h-{width:.1f}z"
        paths.setdefault(level, []).append(outline)
    return "".join(
        f'<path class="h{level}" fill="{fill(f"h{level}")}" d="{"".join(parts)}"/>\n'
        for level, parts in sorted(paths.items())
    )


def _row_labels(rows: list[list[str]], left: float, bottom: int, row: int) -> Iterator[str]:
    every = -(-13 // row)
    for place in range(0, len(rows), every):
        label = rows[place][0]
        yield text_element(left - 8 - _CHARACTER * len(label), bottom - (place + 0.5) * row + 4, label)


def _times(edges: list[int], left: float, bottom: int) -> Iterator[str]:
    seconds = (edges[-1] - edges[0]) / SECOND
    step = nice_step(seconds / _TICKS)
    scale = (_WIDTH - _MARGIN - left) / max(seconds, 1 / SECOND)
    for tick in range(int(seconds / step + 1e-6) + 1):
        yield text_element(round(left + tick * step * scale, 1), bottom + 18, f"{tick * step:.6g} s")


def nice_step(least: float) -> float:
    """The least of 1, 2, 5, 10, 20 ... and their tenths that is at least so large."""
    power = 1 / SECOND
    while power < least / 10:
        power *= 10
    return next(power * digit for digit in (1, 2, 5, 10, 20) if power * digit >= least)
