"""The library's values as HTML and as text that fits on a screen: tables, and bars of histograms.

All that was traced is escaped: names of processes and functions are anybody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

from sonde.library.frames import Stack
from sonde.typed import Any, Protocol
from sonde.visible import unicode_text, visible

MOST_ROWS = 25
"""Rows of a table that are shown; below it stands how many there are."""
_MOST_FRAMES = 6
_WIDTH = 40
"""Characters of the longest bar."""

_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:2px 0 8px"
_CELL = "padding:1px 10px 1px 0;text-align:left;vertical-align:top;border:0;background:none"
_NUMBER = f"{_CELL};text-align:right"
_BAR = "background:#c8642b;height:0.8em;min-width:1px;border-radius:1px"


class Buckets(Protocol):
    """A histogram (`library.histograms`)."""

    @property
    def buckets(self) -> Sequence[Any]: ...


def is_histogram(value: Any) -> bool:
    return hasattr(value, "buckets")


def shown(value: Any) -> str:
    """A value in a few lines, with nothing in it that steers a terminal."""
    if isinstance(value, Stack):
        frames = [shown(str(each)) for each in islice(value, _MOST_FRAMES)]
        more = len(value) - len(frames)
        return "\n".join([*frames, *([f"... {more} more"] if more > 0 else [])])
    if isinstance(value, bytes):
        return value.hex()
    return visible(unicode_text(str(value)))


def escaped(value: Any) -> str:
    return escape(shown(value)).replace("\n", "<br>")


def rows_html(names: Sequence[str], rows: Sequence[Sequence[Any]], count: int, numbers: frozenset[int]) -> str:
    """A table of `rows`, some of `count` that there are; columns `numbers` stand to the right."""
    styles = [_NUMBER if place in numbers else _CELL for place in range(len(names))]
    head = "".join(
        f'<th style="{style};font-weight:600">{escaped(name)}</th>' for name, style in zip(names, styles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style}">{escaped(each)}</td>' for each, style in zip(row, styles, strict=True))
        + "</tr>"
        for row in rows
    )
    more = f'<div style="opacity:0.7">{len(rows):,} of {count:,}</div>' if count > len(rows) else ""
    return f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def bounds_text(bucket: Any) -> str:
    """What values a bucket is of."""
    if bucket.low == bucket.high:
        return f"{bucket.low}"
    if bucket.low is None:
        return f"≤ {bucket.high}"
    return f"≥ {bucket.low}" if bucket.high is None else f"{bucket.low} … {bucket.high}"


def histogram_html(value: Buckets) -> str:
    """A bar for each bucket."""
    buckets = value.buckets
    if not buckets:
        return '<div style="opacity:0.7">nothing was counted</div>'
    most = max(max(each.count for each in buckets), 1)
    rows = "".join(
        f'<tr><td style="{_NUMBER}">{escaped(bounds_text(each))}</td><td style="{_NUMBER}">{each.count:,}</td>'
        f'<td style="{_CELL};width:24em"><div style="{_BAR};width:{max(each.count, 0) / most:.1%}"></div></td></tr>'
        for each in buckets
    )
    return f'<table style="{_STYLE}"><tbody>{rows}</tbody></table>'


def histogram_text(value: Buckets) -> str:
    """The same in characters."""
    buckets = value.buckets
    if not buckets:
        return "nothing was counted"
    most = max(max(each.count for each in buckets), 1)
    texts = [bounds_text(each) for each in buckets]
    width = max(map(len, texts))
    return "\n".join(
        f"{text:>{width}} |{'@' * round(_WIDTH * max(each.count, 0) / most):{_WIDTH}}| {each.count}"
        for text, each in zip(texts, buckets, strict=True)
    )


def ordered(rows: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Keys and values, those that count most first; of values that cannot be compared as they come."""
    try:
        return sorted(rows.items(), key=lambda row: row[1].total if is_histogram(row[1]) else row[1], reverse=True)
    except TypeError:
        return [*rows.items()]


def aggregation_html(title: str, names: Sequence[str], function: str, rows: Mapping[Any, Any]) -> str:
    """What an aggregation has at a moment; `names` are the parts of its key."""
    found = ordered(rows)
    heading = f'<div style="font-weight:600">{escaped(title)}</div>'
    if found and is_histogram(found[0][1]):
        parts = [
            (f'<div style="margin-top:4px">{escaped(_key(key))}</div>' if key else "") + histogram_html(value)
            for key, value in found[:MOST_ROWS]
        ]
        more = f'<div style="opacity:0.7">{MOST_ROWS} of {len(found):,}</div>' if len(found) > MOST_ROWS else ""
        return heading + "".join(parts) + more
    cells = [(*key, number_text(value)) for key, value in found[:MOST_ROWS]]
    return heading + rows_html([*names, function], cells, len(found), frozenset([len(names)]))


def aggregation_text(title: str, rows: Mapping[Any, Any]) -> str:
    """The same as text."""
    found = ordered(rows)
    lines = [shown(title)]
    for key, value in found[:MOST_ROWS]:
        if is_histogram(value):
            lines += [_key(key), histogram_text(value)] if key else [histogram_text(value)]
        else:
            lines.append("  ".join(filter(None, (_key(key), number_text(value)))))
    if len(found) > MOST_ROWS:
        lines.append(f"{MOST_ROWS} of {len(found):,}")
    return "\n".join(lines)


def number_text(value: Any) -> str:
    """A value of an aggregation."""
    number = getattr(value, "number", value)
    return (
        f"{number:,.2f}" if isinstance(number, float) else f"{number:,}" if isinstance(number, int) else shown(number)
    )


def _key(key: Iterable[Any]) -> str:
    return "  ".join(map(shown, key))
