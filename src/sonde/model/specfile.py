"""Spec files: a compiled program with what it needs to run, written on one machine and loaded on another.

JSON, fields by name (`plain.py`), beginning with what it is, its version and a checksum of the rest. Reading checks
everything that later stages take for granted; nothing in a file is executed but the BPF programs, by the kernel.
"""

from __future__ import annotations

import hashlib
import json

from sonde.formats.damage import DamagedError
from sonde.model.layout_checks import check_layouts
from sonde.model.named_maps import SITES, sites_row_size
from sonde.model.plain import PlainError, from_plain, show, to_plain
from sonde.model.probe import StaticPattern, StaticProbe, Uprobe
from sonde.model.spec import ProgramSpec, TracingSpec
from sonde.typed import Any, NamedTuple

FORMAT = "sonde spec"
VERSION = 1

_STAMPS = frozenset(("cookie", "realtime_offset", "namespace_device", "namespace_inode", "symbol", "target", "tracer"))
_INSTRUCTION = 8
_LD_IMM64 = 0x18
"""Of struct bpf_insn: its bytes, and the first one of those that load a constant of 64 bits."""


class SpecFileError(DamagedError):
    """The file cannot be used; the text says why, without the file's name."""


class Fact(NamedTuple):
    """Something of the kernel that is compiled in: the layout of a type, an enumerator, the arguments of a tracepoint,
    the format of a trace event. `value` is a number or a short hash; equal values mean the same code is right."""

    kind: str
    name: str
    value: str


class CompiledFor(NamedTuple):
    """The kernel that it was compiled for: `release` as uname(2) has it or the name of its BTF file, `btf` a hash of
    its BTF ("" if it has none), and the facts about it that were used."""

    architecture: str
    release: str
    btf: str
    facts: tuple[Fact, ...]


class ProgramPart(NamedTuple):
    """A program as it was given: how messages call it, and how many probes it matched."""

    title: str
    probes: int


class KeptSetting(NamedTuple):
    """An option's value, as `OptionTable` keeps it."""

    name: str
    value: bool | int | str


class SpecFile(NamedTuple):
    """The content. `sonde` is the version that wrote it; `destructive`: it has actions that need -w."""

    sonde: str
    compiled_for: CompiledFor
    parts: tuple[ProgramPart, ...]
    options: tuple[KeptSetting, ...]
    destructive: bool
    spec: TracingSpec


def to_text(content: SpecFile) -> str:
    """The file's text."""
    return show(signed(to_plain(content))) + "\n"


def from_text(text: str) -> SpecFile:
    """What `to_text` was given. Raises SpecFileError."""
    data = _outer(text)
    if data.pop("version") != VERSION:
        raise SpecFileError("it was written by a newer version of sonde")
    if data.pop("checksum", None) != _checksum(data):
        raise SpecFileError("it is damaged: its checksum is wrong")
    _upgrade(data)
    try:
        content: SpecFile = from_plain(SpecFile, data)
    except PlainError as error:
        raise SpecFileError(f"it is damaged: {error}") from None
    _check(content.spec)
    return content


def _upgrade(data: dict[str, Any]) -> None:
    """Earlier versions of sonde wrote the language, and the texts of its report, beside the spec."""
    language, texts, spec = data.pop("language", "d"), data.pop("texts", ""), data.get("spec")
    if language == "d" or not isinstance(texts, str) or not isinstance(spec, dict):
        return

    try:
        spec |= {"language": language, "texts": json.loads(texts)}
    except (ValueError, RecursionError):
        raise SpecFileError("it is damaged: what its report is to show is not known") from None


def _outer(text: str) -> dict[str, Any]:
    """The object with a version that is a number."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise SpecFileError("it is damaged, or no spec file at all: it is not JSON") from None
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT or type(data.get("version")) is not int:
        raise SpecFileError("it is no spec file")
    return data


def signed(data: dict[str, Any]) -> dict[str, Any]:
    """The object that a file's JSON is, with the checksum of what is in it, as `from_text` wants it."""
    rest = {name: value for name, value in data.items() if name not in ("format", "version", "checksum")}
    return {"format": FORMAT, "version": VERSION, "checksum": _checksum(rest), **rest}


def _checksum(data: Any) -> str:

    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _check(spec: TracingSpec) -> None:
    """That every reference leads somewhere and every kind is known."""
    maps = {each.name for each in spec.maps}
    _require(len(maps) == len(spec.maps), "two maps have the same name")
    _require({"state", "counters", *spec.rings} <= maps, "a map that every session has is missing")
    called = _called(spec)
    for program in spec.programs:
        count, rest = divmod(len(program.code), _INSTRUCTION)
        is_run = bool(program.probes) or program.name in called
        _require(count > 0 and not rest and is_run, f"program {program.name} is not whole")
        for served in program.probes:
            # The places of one are not checked any more, and a wrong one would change what the process does.
            _require(
                not isinstance(served.probe.firing, (StaticProbe, Uprobe)),
                f"{served.probe} is of a process, not for a file",
            )
        _check_sites(spec, program)
        # What loading changes are constants: it may make no other call of a call.
        constants = {at for at in range(count - 1) if program.code[_INSTRUCTION * at] == _LD_IMM64}
        for index, name in program.map_references:
            _require(index in constants and name in maps, f"program {program.name} refers to no map")
        for stamp in program.stamps:
            known = stamp.at in constants and stamp.kind in _STAMPS
            _require(known, f"program {program.name} has an unknown stamp")
    _require(all(each.map in maps for each in spec.aggregations), "an aggregation has no map")
    _require(all(each.map in maps for each in spec.arrays), "an array has no map")
    try:
        check_layouts(spec)
    except DamagedError as error:
        raise SpecFileError(str(error)) from None


def _called(spec: TracingSpec) -> set[str]:
    """The programs that others may call by tail calls. What arrays of programs and maps of maps have must be there."""
    programs, maps = {each.name for each in spec.programs}, {each.name for each in spec.maps}
    found: set[str] = set()
    for each in spec.maps:
        names = {name for _, name in each.elements or ()}
        _require(names <= (programs if each.inner is None else maps), f"an element of map {each.name} is not there")
        _require(all(0 <= key < each.max_entries for key, _ in each.elements or ()), f"map {each.name} has no such key")
        found |= names & programs
    return found


def _check_sites(spec: TracingSpec, program: ProgramSpec) -> None:
    """That the table of sites has room for its rows."""
    waits = [isinstance(served.probe.firing, StaticPattern) for served in program.probes]
    sites = program.sites
    if sites is None:
        _require(not any(waits), f"program {program.name} has no table of sites")
        return
    words = {len(mask) for mask in sites.masks}
    whole = all(waits) and len(sites.masks) == len(waits) and len(words) == 1 and sites.arguments >= 0
    _require(whole, f"the sites of program {program.name} are not whole")
    size = sites_row_size(words.pop(), sites.arguments)
    room = [each.value_size for each in spec.maps if each.name == sites.map]
    _require(room == [SITES * size], f"the table of sites of program {program.name} has another size")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SpecFileError(f"it is damaged: {otherwise}")
