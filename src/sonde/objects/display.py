"""Which types the report shows maps and rings of an object by."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.bpf import btf, maps
from sonde.bpf.btf import Btf
from sonde.objects.elf import STT_OBJECT
from sonde.objects.maps import Definition
from sonde.objects.reading import BpfObject, damaged
from sonde.objects.type_specs import TypeSpecs
from sonde.objects.types import size_of, stripped
from sonde.spec import TypeSpec
from sonde.typed import NamedTuple

_RINGS = frozenset((maps.RINGBUF, maps.PERF_EVENT_ARRAY))


class Shown(NamedTuple):
    """Types of a map by their indexes, None where they are not known; the name, type, offset and size of each variable
    of global data."""

    key: int | None
    value: int | None
    variables: tuple[tuple[str, int, int, int], ...]


def display(object_: BpfObject, definitions: Mapping[str, Definition]) -> tuple[tuple[TypeSpec, ...], dict[str, Shown]]:
    """The types, and what is known of each map by its name. Raises ObjectError."""
    types = object_.types
    if types is None:
        return (), {}
    with damaged():
        specs = TypeSpecs(types)
        found = {}
        for name, each in definitions.items():
            value = each.value or (_record(types, name) if each.spec.kind in _RINGS else 0)
            is_data = name.startswith(".")
            found[name] = Shown(
                specs.number(each.key) if each.key else None,
                specs.number(value) if value and not is_data else None,
                _variables(object_, types, specs, name) if is_data else (),
            )
        return tuple(specs.specs), found


def _record(types: Btf, name: str) -> int:
    """What a ring is likely to have where its declaration does not say: the structure of its name, or the singular."""
    for each in (name, name.removesuffix("s")):
        found = types.find(each, btf.STRUCT)
        if found:
            return found
    return 0


def _variables(object_: BpfObject, types: Btf, specs: TypeSpecs, name: str) -> tuple[tuple[str, int, int, int], ...]:
    number = object_.file.number(name)
    found = []
    for symbol in object_.file.symbols:
        if symbol.section != number or symbol.kind != STT_OBJECT:
            continue
        identifier = types.find(symbol.name, btf.VAR)
        if identifier is None:
            continue
        kind = types.type(identifier).type
        if stripped(types, kind).kind and size_of(types, kind) == symbol.size:
            found.append((symbol.name, specs.number(kind), symbol.value, symbol.size))
    return tuple(sorted(found, key=lambda each: each[2]))
