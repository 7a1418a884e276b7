"""All warnings about a checked program, in the order of their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from sonde.frontends.d.warnings.addresses import misread_addresses
from sonde.frontends.d.warnings.comparisons import names_of_calls, settled_comparisons
from sonde.frontends.d.warnings.lifetimes import lost_values, missing_starts
from sonde.frontends.d.warnings.narrowing import Origins, cut_values
from sonde.frontends.d.warnings.warning import Warning
from sonde.model.program import Clause


def warnings(
    clauses: Sequence[Clause], origins: Origins, noted: Iterable[Warning], libraries: Collection[str | None]
) -> list[Warning]:
    """`noted` are those of the checker; what stands in a file of `libraries` is not the user's to change."""
    found = {each[:2]: each for each in (*noted, *_of(clauses, origins)) if each.position.file not in libraries}
    return sorted(found.values(), key=lambda each: (each.position.file or "", *each.position[1:3]))


def _of(clauses: Sequence[Clause], origins: Origins) -> Iterator[Warning]:
    yield from lost_values(clauses)
    yield from missing_starts(clauses)
    yield from names_of_calls(clauses)
    for clause in clauses:
        yield from cut_values(clause, origins)
        yield from misread_addresses(clause)
        yield from settled_comparisons(clause)
