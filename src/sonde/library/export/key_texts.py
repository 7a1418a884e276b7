"""Keys of aggregations as values of labels."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.library.aggregations import Key, key_of
from sonde.library.frames import Stack
from sonde.library.values import Values
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.typed import Any
from sonde.visible import unicode_text


class ValueTexts:
    """`snapshots.KeyTexts` of what the library makes of keys."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def __call__(self, spec: AggregationSpec | ArraySpec, key: Key) -> Sequence[str]:
        return [_text(each) for each in key_of(spec, key, self._values)]


def _text(value: Any) -> str:
    """Stacks are folded: the outermost frame first, `;` between them, which are `:` in names."""
    if isinstance(value, Stack):
        return ";".join(str(each).replace(";", ":") for each in reversed(value))
    return value.hex() if isinstance(value, bytes) else unicode_text(str(value))


def folded(text: str) -> str:
    """A text of several lines, as bpftrace's language shows a stack, folded; others as they are."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return ";".join(reversed(lines)) if "\n" in text.strip("\n") or text.startswith("\n") else text
