"""What whoever runs an object chooses, as the program that it was written for would by libbpf's functions: the values
of global variables, the sizes of maps, which programs are loaded, and where they are attached.

A choice that fits nothing in the object is a mistake, and told as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from sonde.objects.data import TARGET, given_values, once
from sonde.objects.errors import ObjectError
from sonde.typed import NamedTuple

_STATES = {"on": True, "off": False}
_MOST = 1 << 32
OFF = "?"
"""A section whose name begins so has a program that is loaded only if it is asked for."""


_OF_TARGET = f"@{TARGET}"


class SectionPlace(NamedTuple):
    """A place as sections have it behind their first slash; in process `pid` alone unless that is 0."""

    text: str
    pid: int = 0


class Choices(NamedTuple):
    """`values` are those of global variables, `sizes` the numbers of elements of maps, by name; `states` pairs patterns
    of programs' names with whether these are loaded, the last that fits decides; `places` are those where a program is
    attached instead of the one that its section names, by the program's name; `records` are the structures that rings
    have, by the ring's name; `vmlinux` is the kernel's file with debug information, "" to look for it. `devices` are
    those that programs for packets are attached to which have no place of their own, and `xdp` is how XDP has to be met
    there: `native`, `generic` or, "", as the driver can."""

    values: Mapping[str, int] = {}
    sizes: Mapping[str, int] = {}
    states: Sequence[tuple[str, bool]] = ()
    places: Mapping[str, Sequence[SectionPlace]] = {}
    records: Mapping[str, str] = {}
    vmlinux: str = ""
    devices: Sequence[SectionPlace] = ()
    xdp: str = ""


NO_CHOICES = Choices()


class Words(NamedTuple):
    """The values of -D, --map, --program, --attach, --record and --device, in their order, and that of -xxdp."""

    variables: Sequence[str] = ()
    sizes: Sequence[str] = ()
    states: Sequence[str] = ()
    places: Sequence[str] = ()
    records: Sequence[str] = ()
    devices: Sequence[str] = ()
    xdp: str = ""


def given_choices(words: Words, target: int | None) -> Choices:
    """What they mean; `target` is the process that $target stands for. Raises ObjectError."""
    attached: dict[str, list[SectionPlace]] = {}
    for each in words.places:
        name, _, place = each.partition("=")
        if not name or not place:
            raise ObjectError(f"--attach {each}: a program and a place are wanted", "write --attach PROGRAM=PLACE")
        attached.setdefault(name, []).append(_place(each, place, target))
    values = given_values(words.variables, target)
    sizes, states = once("--map", map(_size, words.sizes)), tuple(map(_state, words.states))
    records = once("--record", map(_record, words.records))
    devices = tuple(map(SectionPlace, words.devices))
    return Choices(values, sizes, states, attached, records, devices=devices, xdp=words.xdp)


def _place(given: str, text: str, target: int | None) -> SectionPlace:
    if not text.endswith(_OF_TARGET):
        return SectionPlace(text)
    if target is None:
        raise ObjectError(f"--attach {given}: $target is the process of -c or -p, and neither is given")
    return SectionPlace(text.removesuffix(_OF_TARGET), target)


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    try:
        elements = int(number, 0)
    except ValueError:
        elements = 0
    if not name or not 0 < elements < _MOST:
        raise ObjectError(f"--map {text}: a map and its number of elements are wanted", "write --map NAME=NUMBER")
    return name, elements


def _record(text: str) -> tuple[str, str]:
    name, _, structure = text.partition("=")
    if not name or not structure:
        remedy = "write --record MAP=STRUCTURE; firings are recorded of scripts alone, of one with the same probes"
        raise ObjectError(f"--record {text}: a ring and a structure are wanted", remedy)
    return name, structure.removeprefix("struct ").strip()


def _state(text: str) -> tuple[str, bool]:
    name, _, word = text.partition("=")
    if not name or word not in _STATES:
        raise ObjectError(f"--program {text}: a program and `on` or `off` are wanted", "write --program NAME=off")
    return name, _STATES[word]


def loaded_programs(choices: Choices, sections: Mapping[str, str]) -> frozenset[str]:
    """The names of the programs that are loaded, of all by the names of their sections. Raises ObjectError."""
    for pattern, _ in choices.states:
        if not any(fnmatchcase(each, pattern) for each in sections):
            raise _nothing("--program", pattern, "program", sections)
    for name in choices.places:
        if name not in sections:
            raise _nothing("--attach", name, "program", sections)
    found = frozenset(name for name, section in sections.items() if _is_loaded(choices, name, section))
    if sections and not found:
        raise ObjectError("none of its programs is to be loaded", f"one is by --program {next(iter(sections))}=on")
    return found


def _is_loaded(choices: Choices, name: str, section: str) -> bool:
    said = [state for pattern, state in choices.states if fnmatchcase(name, pattern)]
    return said[-1] if said else name in choices.places or not section.startswith(OFF)


def require_maps(choices: Choices, names: Iterable[str]) -> None:
    """Raises ObjectError for the size of a map that there is not."""
    known = list(names)
    for name in choices.sizes:
        if name not in known:
            raise _nothing("--map", name, "map", known)


def _nothing(option: str, name: str, kind: str, known: Iterable[str]) -> ObjectError:
    listed = ", ".join(sorted(known))
    return ObjectError(f"{option} {name}: it has no {kind} {name}", f"its {kind}s: {listed or 'none'}")
