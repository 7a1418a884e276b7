"""Names of metrics and labels, made of those of a program.

Prometheus's data model has letters, digits and `_` in both; labels that begin with `__` are its own
(https://prometheus.io/docs/concepts/data_model/).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OTHER = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 64
"""Characters of a label's name: an expression may be as long as it likes."""

RESERVED = ("le", "quantile")
"""Labels that mean something in histograms and summaries."""

SUFFIXES = ("", "_total", "_created", "_bucket", "_count", "_sum", "_info")
"""What samples may have behind the name of their metric, in one of the formats."""


def plain(text: str) -> str:
    """Only what a name may have: runs of all else are `_`, none of which is first or last."""
    return re.sub("_+", "_", _OTHER.sub("_", text)).strip("_")[:_LONGEST].rstrip("_")


def label_names(parts: Sequence[str]) -> tuple[str, ...]:
    """The labels of a key, by the source texts of its parts, "" where there is none: all different."""
    found: list[str] = []
    for place, part in enumerate(parts):
        name = plain(part) or f"key{place}"
        name = f"key_{name}" if name[0].isdigit() or name in RESERVED else name
        found.append(_distinct(name, found))
    return tuple(found)


def _distinct(name: str, known: Sequence[str]) -> str:
    number, tried = 1, name
    while tried in known:
        number += 1
        tried = f"{name}_{number}"
    return tried


class MetricNames:
    """Gives each metric a name whose samples no other has."""

    def __init__(self, prefix: str, taken: Sequence[str] = ()) -> None:
        """`taken` are whole names that are somebody else's."""
        self._prefix = prefix
        self._samples = {each + suffix for each in taken for suffix in SUFFIXES}

    def name(self, text: str, is_counter: bool) -> str:
        """That of an aggregation, by its name in the program; a counter's without `_total`."""
        stem = plain(text)
        if is_counter:
            stem = stem.removesuffix("_total")
        whole = "_".join(filter(None, (self._prefix, stem))) or "metric"
        number, tried = 1, whole
        while any(tried + suffix in self._samples for suffix in SUFFIXES):
            number += 1
            tried = f"{whole}_{number}"
        self._samples |= {tried + suffix for suffix in SUFFIXES}
        return tried
