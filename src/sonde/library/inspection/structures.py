"""The C structures that the variables at a point are fetched into for BPF programs of other compilers."""

from __future__ import annotations

from sonde.library.inspection.variables import errors_of, functions_around, points_at
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.dwarf.structure import structure
from sonde.typed import NamedTuple


class Structure(NamedTuple):
    """What all variables at a point are fetched into: C's declaration, where those that cannot be fetched are comments,
    and its size in bytes. `what`, `address` and `functions` are the point's (`variables.Point`)."""

    what: str
    address: int
    functions: tuple[str, ...]
    size: int
    declaration: str


def structures(path: str, place: str) -> tuple[Structure, ...]:
    """The structure for each place where the compiler has put a function's entry, or FILE@LINE. Raises Error."""
    name = structure_name(place)
    with errors_of(path):
        points = Points(open_information(path))
        return tuple(_structure(points, each, name) for each in points_at(points, place))


def _structure(points: Points, point: CodePoint, name: str) -> Structure:
    layout = structure(points.named(point), name)
    return Structure(point.what, point.address, functions_around(point), layout.size, layout.text)


def structure_name(place: str) -> str:
    """How the structure for a place is called."""
    return "variables_of_" + "".join(each if each.isascii() and each.isalnum() else "_" for each in place)
