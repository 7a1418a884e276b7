"""The maps that an object declares: variables of its section `.maps`, whose types say what they are, those of the older
section `maps`, which are struct bpf_map_def, and its global data.

A declaration's number is the length of an array that a member points to, a type what a member points to (__uint and
__type of bpf_helpers.h; tools/lib/bpf/libbpf.c, parse_btf_map_def).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from sonde.bpf import btf, maps
from sonde.bpf.btf import Btf, BtfMember
from sonde.model.spec import MapSpec
from sonde.objects.elf import SHF_EXECINSTR, SHT_NOBITS, ObjectFile, Relocation, Symbol
from sonde.objects.errors import ObjectError
from sonde.objects.linking import MapPlace
from sonde.objects.types import size_of, stripped
from sonde.typed import NamedTuple

TYPED, OLDER = ".maps", "maps"
_DATA = (".data", ".rodata", ".bss")
_DEFINITION = struct.Struct("<5I")
_NUMBERS = ("type", "key_size", "value_size", "max_entries", "map_flags", "map_extra", "numa_node", "pinning")
_MOST = 1 << 32
_BY_DESCRIPTOR = frozenset((maps.PERF_EVENT_ARRAY, maps.PROG_ARRAY, maps.ARRAY_OF_MAPS, maps.HASH_OF_MAPS))
_STORAGE = frozenset((24, 28, maps.TASK_STORAGE, 32))
"""Local storage of sockets, inodes, tasks and cgroups: created without a number of elements."""
_UNCOUNTED = (maps.CGROUP_STORAGE, maps.PERCPU_CGROUP_STORAGE, maps.STRUCT_OPS)
"""Of which the kernel, too, takes no number."""
_DEEPEST_STACK = 127
"""Addresses of a stack where nothing is said: PERF_MAX_STACK_DEPTH, kernel.perf_event_max_stack as it usually is."""


class MapDefinition(NamedTuple):
    """A map as it was declared: the spec, the types of its keys and values in the object's BTF (0: not known), and what
    the elements of a map of maps or programs are, by key."""

    spec: MapSpec
    key: int = 0
    value: int = 0
    elements: tuple[tuple[int, Symbol], ...] = ()


class DeclaredMaps(NamedTuple):
    """All maps by their names in the spec, and which place of which section of the object means them."""

    definitions: dict[str, MapDefinition]
    places: dict[int, Mapping[int, MapPlace] | str]


def declared(
    file: ObjectFile, types: Btf | None, data: Mapping[str, bytes], sizes: Mapping[str, int] | None = None
) -> DeclaredMaps:
    """The object's maps. `data` has the contents of sections that differ from the file's, `sizes` numbers of elements
    that do. Raises ObjectError."""
    definitions: dict[str, MapDefinition] = {}
    places: dict[int, Mapping[int, MapPlace] | str] = {}
    for number, section in enumerate(file.sections):
        if section.flags & SHF_EXECINSTR or not section.kind:
            continue
        if section.name in (TYPED, OLDER):
            read = _typed if section.name == TYPED else _older
            here: dict[int, MapPlace] = {}
            for symbol, definition in read(file, number, types):
                definition = _sized(definition, (sizes or {}).get(symbol.name, 0))
                definitions[symbol.name] = definition
                here[symbol.value] = MapPlace(symbol.name, 0, True)
            places[number] = here
        elif section.name.startswith(_DATA) and section.size:
            definitions[section.name] = _of_data(file, number, types, data)
            places[number] = section.name
    return DeclaredMaps(definitions, places)


def _sized(definition: MapDefinition, elements: int) -> MapDefinition:
    """With another number of elements, if one is given."""
    if not elements:
        return definition
    spec = definition.spec
    outside = [key for key, _ in definition.elements if key >= elements]
    if outside or (spec.kind in _STORAGE and elements):
        why = f"it has an element {outside[0]}" if outside else "its elements are made as they are needed"
        raise ObjectError(f"--map {spec.name}={elements}: map {spec.name} cannot have that size, {why}")
    return definition._replace(spec=spec._replace(max_entries=elements, by_cpu=""))


def require_sizes(specs: Iterable[MapSpec]) -> None:
    """Raises ObjectError for maps without a number of elements: the program that the object was written for gives
    them one before it loads it."""
    unsized = [each.name for each in specs if not each.max_entries and each.kind not in (*_STORAGE, *_UNCOUNTED)]
    if unsized:
        names, one = " and ".join(filter(None, (", ".join(unsized[:-1]), unsized[-1]))), len(unsized) == 1
        raise ObjectError(
            f"map{'' if one else 's'} {names} ha{'s' if one else 've'} no number of elements",
            f"give {'it' if one else 'each'} one: {' '.join(f'--map {each}=10240' for each in unsized)}",
        )


def _of_data(file: ObjectFile, number: int, types: Btf | None, data: Mapping[str, bytes]) -> MapDefinition:
    section = file.sections[number]
    contents = data.get(section.name, b"") or file.contents(number)
    constant = section.name.startswith(".rodata")
    spec = MapSpec(
        section.name,
        maps.ARRAY,
        4,
        len(contents),
        1,
        maps.F_RDONLY_PROG if constant else 0,
        contents=() if section.kind == SHT_NOBITS and not any(contents) else ((bytes(4), contents),),
        frozen=constant,
    )
    described = types.find(section.name, btf.DATASEC) if types else None
    return MapDefinition(spec, 0, described or 0)


def _symbols(file: ObjectFile, number: int) -> Iterator[Symbol]:
    for symbol in file.symbols:
        if symbol.section == number and symbol.kind in (0, 1) and symbol.name:
            yield symbol


def _older(file: ObjectFile, number: int, types: Btf | None) -> Iterator[tuple[Symbol, MapDefinition]]:
    contents = file.contents(number)
    for symbol in _symbols(file, number):
        if symbol.value + _DEFINITION.size > len(contents):
            raise ObjectError(f"map {symbol.name} is cut off")
        kind, key, value, most, flags = _DEFINITION.unpack_from(contents, symbol.value)
        if kind in maps.MAPS_OF_MAPS:
            raise ObjectError(
                f"map {symbol.name} of the section maps holds maps, of which that section cannot tell more",
                "declare it in the section .maps with __array(values, ...)",
            )
        numbers = {"type": kind, "key_size": key, "value_size": value, "max_entries": most, "map_flags": flags}
        yield symbol, MapDefinition(_spec(symbol.name, numbers))


def _typed(file: ObjectFile, number: int, types: Btf | None) -> Iterator[tuple[Symbol, MapDefinition]]:
    if types is None:
        raise ObjectError("its maps are declared by BTF, which it has not", "compile with -g, gcc with -gbtf")
    relocations = file.relocations(number)
    for symbol in _symbols(file, number):
        variable = types.find(symbol.name, btf.VAR)
        if variable is None:
            raise ObjectError(f"map {symbol.name} is not in its BTF")
        definition = _defined(types, symbol.name, types.type(variable).type, False)
        yield symbol, definition._replace(elements=_elements(types, symbol, definition.spec, relocations))


def _defined(types: Btf, name: str, identifier: int, is_inner: bool) -> MapDefinition:
    """The map that a structure declares."""
    declaration = stripped(types, identifier)
    if declaration.kind != btf.STRUCT:
        raise ObjectError(f"map {name} is not declared by a structure")
    numbers: dict[str, int] = {}
    described = {"key": 0, "value": 0}
    inner: MapSpec | None = None
    for member in declaration.members:
        if member.name in _NUMBERS:
            numbers[member.name] = _number(types, name, member)
        elif member.name in described:
            target = stripped(types, member.type)
            if target.kind != btf.PTR:
                raise ObjectError(f"the {member.name} of map {name} is not declared by __type")
            described[member.name] = target.type
            numbers.setdefault(f"{member.name}_size", size_of(types, target.type))
        elif member.name == "values":
            inner = _inner(types, name, member, is_inner)
        else:
            raise ObjectError(f"map {name} has {member.name}, which is not known")
    if numbers.get("pinning"):
        raise ObjectError(
            f"map {name} wants to be pinned, and sonde leaves nothing behind in the kernel",
            "leave __uint(pinning, ...) away",
        )
    spec = _spec(name, numbers)._replace(inner=inner)
    return MapDefinition(spec, described["key"], described["value"])


def _number(types: Btf, name: str, member: BtfMember) -> int:
    pointer = stripped(types, member.type)
    array = stripped(types, pointer.type) if pointer.kind == btf.PTR else pointer
    if array.kind != btf.ARRAY:
        raise ObjectError(f"{member.name} of map {name} is not declared by __uint")
    return array.length


def _inner(types: Btf, name: str, member: BtfMember, is_inner: bool) -> MapSpec | None:
    """The template of a map of maps; None for an array of programs."""
    array = stripped(types, member.type)
    pointer = stripped(types, array.type) if array.kind == btf.ARRAY else array
    target = stripped(types, pointer.type) if pointer.kind == btf.PTR else pointer
    if target.kind == btf.FUNC_PROTO:
        return None
    if target.kind != btf.STRUCT or is_inner:
        raise ObjectError(f"the values of map {name} are not declared by __array")
    return _defined(types, f"{name}.inner", target.id, True).spec


def _spec(name: str, numbers: Mapping[str, int]) -> MapSpec:
    kind = numbers.get("type", 0)
    if not kind:
        raise ObjectError(f"map {name} has no type")
    if numbers.get("map_extra"):
        raise ObjectError(f"map {name} has map_extra, which is not supported")
    key, value, most = (numbers.get(each, 0) for each in ("key_size", "value_size", "max_entries"))
    if max(key, value, most) >= _MOST:
        raise ObjectError(f"map {name} is too large")
    if kind in _BY_DESCRIPTOR:
        key = value = 4
    elif kind in (maps.RINGBUF, maps.USER_RINGBUF):
        # Types that are declared for it are those of its records, for who shows them.
        key = value = 0
    flags = numbers.get("map_flags", 0)
    if kind == maps.STACK_TRACE and not value:
        value = _DEEPEST_STACK * (maps.BUILD_ID_SIZE if flags & maps.F_STACK_BUILD_ID else 8)
    spec = MapSpec(name, kind, key, value, most, flags, typed=kind in _STORAGE)
    if kind == maps.PERF_EVENT_ARRAY and not most:
        return spec._replace(max_entries=1, by_cpu="any")
    return spec


def _elements(
    types: Btf, symbol: Symbol, spec: MapSpec, relocations: tuple[Relocation, ...]
) -> tuple[tuple[int, Symbol], ...]:
    """What `.values = { [N] = &map }` says: relocations of the words behind the declaration's members."""
    variable = types.find(symbol.name, btf.VAR)
    declaration = stripped(types, types.type(variable).type) if variable else None
    if declaration is None:
        return ()
    start = next((each.offset // 8 for each in declaration.members if each.name == "values"), None)
    if start is None:
        return ()
    begin, end = symbol.value + start, symbol.value + symbol.size
    found = [((each.offset - begin) // 8, each.symbol) for each in relocations if begin <= each.offset < end]
    outside = [key for key, _ in found if key >= spec.max_entries]
    if outside:
        raise ObjectError(f"map {symbol.name} has no element {outside[0]}")
    return tuple(found)
