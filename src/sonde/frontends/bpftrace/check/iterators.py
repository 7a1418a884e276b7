"""Iterators: `iter:NAME`, and `iter:NAME:PIN` for one that runs when somebody reads a file."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.globs import is_glob
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.catalog import Catalog

_KIND = "iter"


def iterated(point: nodes.AttachPoint, fields: Sequence[str], catalog: Catalog) -> list[AttachedProbes]:
    """The probe of a description. Raises BtError."""
    if point.text.endswith(":") and not fields:
        raise BtError("iter should specify a iterator's name", point.at)
    if len(fields) not in (1, 2):
        raise BtError(f"{_KIND} probe type takes 2 arguments (1 optional)", point.at)
    if any(map(is_glob, fields)):
        raise BtError(f"{_KIND} probe type does not support wildcards", point.at)
    name, pin = fields[0], "".join(fields[1:])
    found = catalog.match(_KIND, "", pin, name)
    if not found:
        text = f"iter {name} not available for your kernel version."
        raise BtError(text, point.at, catalog.mismatch(_KIND, "", pin, name))
    return [AttachedProbes(point, ":".join((_KIND, *fields)), _KIND, tuple(found))]
