"""Where the address of a process's direct caller is when a probe fires, as far as it is known without frame pointers
(`codegen/expressions/callers.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from sonde.codegen.basis.generation import RECORD_READS
from sonde.model import program as tree
from sonde.model.probe import Probe, StaticProbe, StaticSite, Uprobe
from sonde.model.program import Clause
from sonde.model.walk import nodes

ReturnPlace = Callable[[str, int], int | None]
"""Bytes from the stack pointer to the return address at an offset in a file; None or less than 0 where frame pointers
are to be followed, or it is not known."""

UNKNOWN = -1
"""Nothing is known of where the caller's address is."""

RETURNED = -2
"""At a function's return the process is where the function was called."""


def unknown(path: str, offset: int) -> int | None:
    return None


def are_wanted(clauses: Sequence[Clause], features: Set[str]) -> bool:
    """Whether any of the clauses looks at the stack of the process, or that is recorded anyway."""
    return RECORD_READS in features or any(
        (isinstance(node, tree.StackTrace) and node.is_user)
        or (isinstance(node, tree.Builtin) and node.name in ("ucaller", "ustackdepth"))
        for clause in clauses
        for node in nodes(clause)
    )


def place_of(probe: Probe, clauses: Sequence[Clause], features: Set[str], place: ReturnPlace) -> int | None:
    """Where the return address is when the probe fires, if the clauses want it: as ReturnPlace says, or RETURNED."""
    firing = probe.firing
    if not isinstance(firing, (Uprobe, StaticProbe)) or not are_wanted(clauses, features):
        return None
    if isinstance(firing, StaticProbe):
        return of_site(firing, firing.sites[0], place)
    if firing.kind == "entry":
        return 0
    return RETURNED if firing.kind == "return" else _known(place(firing.path, firing.offset))


def of_site(firing: StaticProbe, site: StaticSite, place: ReturnPlace) -> int | None:
    return _known(place(firing.path, site.offset))


def _known(distance: int | None) -> int | None:
    return distance if distance is not None and distance >= 0 else None
