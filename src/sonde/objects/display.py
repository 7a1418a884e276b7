"""Which types the report shows maps and rings of an object by."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.bpf import btf, maps
from sonde.bpf.btf import Btf
from sonde.model.records import TypeSpec
from sonde.model.type_table import TypeTable
from sonde.objects.debug_types import DebugTypes
from sonde.objects.elf import STT_OBJECT
from sonde.objects.errors import ObjectError
from sonde.objects.maps import MapDefinition
from sonde.objects.reading import BpfObject, damaged
from sonde.objects.type_specs import TypeSpecs
from sonde.objects.types import size_of, stripped
from sonde.typed import NamedTuple

_RINGS = frozenset((maps.RINGBUF, maps.PERF_EVENT_ARRAY))


class ShownTypes(NamedTuple):
    """Types of a map by their indexes, None where they are not known; the name, type, offset and size of each variable
    of global data."""

    key: int | None
    value: int | None
    variables: tuple[tuple[str, int, int, int], ...]


def display(
    object_: BpfObject, definitions: Mapping[str, MapDefinition], records: Mapping[str, str]
) -> tuple[tuple[TypeSpec, ...], dict[str, ShownTypes], str]:
    """The types, what is known of each map by its name, and why some types could not be looked for, or "".

    `records` are the names of the structures that rings have, where that is given. Raises ObjectError.
    """
    types = object_.types
    for name in records:
        if name not in definitions or definitions[name].spec.kind not in _RINGS:
            rings = ", ".join(sorted(each for each, found in definitions.items() if found.spec.kind in _RINGS))
            raise ObjectError(f"--record {name}: it has no ring or array of perf events {name}", f"it has: {rings}")
    if types is None:
        return (), {}, ""
    with damaged():
        specs = TypeSpecs(types)
        structures = _Structures(object_, types, specs)
        found = {}
        for name, each in definitions.items():
            is_data = name.startswith(".")
            if each.spec.kind in _RINGS:
                value = structures.record(name, each, records.get(name))
            else:
                value = specs.number(each.value) if each.value and not is_data else None
            found[name] = ShownTypes(
                specs.number(each.key) if each.key else None,
                value,
                _variables(object_, types, specs, name) if is_data else (),
            )
        return tuple(specs.specs), found, structures.remark


class _Structures:
    """Structures by name: of the object's BTF, else of its DWARF."""

    def __init__(self, object_: BpfObject, types: Btf, specs: TypeSpecs) -> None:
        self._types = types
        self._specs = specs
        self._debug = DebugTypes(object_.file)
        self._table = TypeTable(0, specs.specs)
        self.remark = ""

    def record(self, map_name: str, definition: MapDefinition, given: str | None) -> int | None:
        """The index of the type of a ring's records: the one that is given or declared, else of the structure called
        like the map, or the singular. The declared values of an array of perf events are its descriptors."""
        if given is not None:
            number = self._named(given)
            if number is None:
                raise ObjectError(
                    f"--record {map_name}={given}: neither its BTF nor its debug information has a structure {given}",
                    "compile with -g, and do not strip it",
                )
            return number
        if definition.value and definition.spec.kind == maps.RINGBUF:
            return self._specs.number(definition.value)
        numbers = (self._named(each) for each in dict.fromkeys((map_name, map_name.removesuffix("s"))))
        try:
            return next((each for each in numbers if each is not None), None)
        except ObjectError as error:
            # Nobody has asked for its debug information: it runs without.
            self.remark = f"{error.text}: records of which its BTF knows no type are shown as bytes"
            return None

    def _named(self, name: str) -> int | None:
        found = self._types.find(name, btf.STRUCT)
        if found:
            return self._specs.number(found)
        kind = self._debug.structure(name)
        return self._table.number(kind) if kind is not None else None


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
