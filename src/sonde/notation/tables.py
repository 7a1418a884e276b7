"""The tables of names in names.txt, which tools/make_names.py makes of the C headers."""

from __future__ import annotations

from functools import cache

from sonde import resources
from sonde.typed import NamedTuple


class NameTable(NamedTuple):
    """Names of numbers. `kind` is `flags` (bits, or'ed together), `values` (one name each), or `both`: the bits of
    `mask` are one of the values, and the others flags. `unknown` is what a number without a name is called, "" for
    nothing."""

    kind: str
    unknown: str
    mask: int
    names: tuple[tuple[str, int], ...]

    def by_number(self) -> dict[int, str]:
        """The first name of each number."""
        return {value: name for name, value in reversed(self.names)}


@cache
def tables() -> dict[str, NameTable]:
    """All tables of the file, by their names."""
    found = {}
    for block in resources.text("notation", "names.txt").split("\n@")[1:]:
        head, _, body = block.partition("\n")
        name, kind, unknown, *mask = head.split()
        pairs = (word.split("=") for word in body.split())
        names = tuple((each, int(value, 0)) for each, value in pairs)
        found[name] = NameTable(kind, "" if unknown == "-" else unknown, int(mask[0], 0) if mask else 0, names)
    return found


@cache
def numbered(name: str) -> dict[int, str]:
    """The names of a table of `values` by their numbers."""
    return tables()[name].by_number()
