"""Aggregations in the default layout with a line for each key: options agghist and aggpack."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from sonde.consume.events import Table, TableRow
from sonde.consume.options import Options
from sonde.frontends.d.report.histogram import bar, labels_of, range_of
from sonde.model.aggregating import HISTOGRAMS, number_of, without_extent, zero_words
from sonde.model.aggregation_words import counts
from sonde.model.records import AggregationSpec
from sonde.typed import Any

_LEAST = 16
"""Columns that keys take at least."""

_BLOCKS = (" ", *"▁▂▃▄▅▆▇█")
_SIGNS = " .:-=+*#@"
_ENVIRONMENT = ("LC_ALL", "LC_CTYPE", "LANG")

_HEADING = b"\n%*s %41s %-9s\n"


def has_lines(table: Table, options: Options) -> bool:
    """Whether the options ask for lines, and the table can have them: one aggregation, no stacks among its keys."""
    if len(table.aggregations) != 1 or options.aggpercpu:
        return False
    (spec,) = table.aggregations
    is_line = all(field.kind not in ("stack", "ustack") for field in spec.keys)
    return is_line and (options.aggpack if spec.function in HISTOGRAMS else options.agghist)


def lines(table: Table, options: Options, keys: Callable[[tuple[Any, ...]], bytes]) -> Iterator[bytes]:
    """The heading and a line for each row; `keys` gives the text of a row's key in the default layout."""
    if not table.rows:
        return
    (spec,), (factor,) = table.aggregations, table.factors
    names = [b" ".join(keys(row.key).split(b"\n")[0].split()) for row in table.rows]
    width = max(_LEAST, *map(len, names)) if names else _LEAST
    if spec.function in HISTOGRAMS:
        yield from _packed(spec, factor, table.rows, names, width, options.aggzoom)
    else:
        yield from _bars(spec, factor, table.rows, names, width, options.aggzoom)


def _bars(
    spec: AggregationSpec, factor: int, rows: Sequence[TableRow], names: Sequence[bytes], width: int, is_zoomed: bool
) -> Iterator[bytes]:
    """Values as bars: parts of their sum or, zoomed, of the largest."""
    values = [number_of(spec.function, row.words[0] or zero_words(spec), factor, spec.is_unsigned) for row in rows]
    sizes = [abs(value) for value in values]
    whole = max(sizes) if is_zoomed else sum(sizes)
    signs = any(value > 0 for value in values), any(value < 0 for value in values)
    yield _HEADING % (width, b"key", b"------------- Distribution -------------", b"value")
    for name, value in zip(names, values, strict=True):
        yield b"%*s %s %-9d\n" % (width, name, bar(value, whole, *signs), value)


def _packed(
    spec: AggregationSpec, factor: int, rows: Sequence[TableRow], names: Sequence[bytes], width: int, is_zoomed: bool
) -> Iterator[bytes]:
    """Distributions as signs: a column for each bucket that any of them uses, the higher the larger its part."""
    each = [counts(without_extent(spec, row.words[0] or zero_words(spec))) for row in rows]
    ranges = [range_of(spec, values) for values in each]
    first, last = min(low for low, _ in ranges), max(high for _, high in ranges)
    shown = labels_of(spec, first, last)
    low, high = shown[0], shown[-1]
    between = b"-" * (last - first + 1)
    yield b"\n%*s  %*s .%s. %-*s | %s\n" % (
        width, b"key", max(len(low), 3), b"min", between, max(len(high), 3), b"max", b"count"
    )  # fmt: skip
    signs = _BLOCKS if _is_utf8() else tuple(_SIGNS)
    for name, row, values in zip(names, rows, each, strict=True):
        whole = max(map(abs, values)) if is_zoomed else sum(map(abs, values))
        columns = "".join(_sign(value, whole, signs) for value in values[first : last + 1]).encode()
        total = sum(counts(without_extent(spec, row.words[0] or zero_words(spec)), factor))
        yield b"%*s  %*s :%s: %-*s | %d\n" % (
            width, name, max(len(low), 3), low, columns, max(len(high), 3), high, total
        )  # fmt: skip


def _sign(value: int, whole: int, signs: Sequence[str]) -> str:
    """The sign for a part; what is not 0 is always seen."""
    if not value:
        return signs[0]
    return signs[max((abs(value) * (len(signs) - 1) + whole // 2) // whole, 1)]


def _is_utf8() -> bool:
    """Whether the user's terminal reads UTF-8."""
    chosen = next((os.environ[name] for name in _ENVIRONMENT if os.environ.get(name)), "")
    return chosen.upper().replace("-", "").endswith("UTF8")
