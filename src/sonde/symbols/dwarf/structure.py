"""The C structure that a point's variables are fetched into."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.symbols.dwarf.declaration import DeclaredField, StructureDeclaration, declaration
from sonde.symbols.dwarf.points import Named


def structure(named: Sequence[Named], name: str) -> StructureDeclaration:
    """The structure `name` of the variables that can be fetched; the others are named in comments."""
    fields = [DeclaredField(each.variable.name, each.variable.type, each.fetches, each.reason) for each in named]
    return declaration(name, fields)
