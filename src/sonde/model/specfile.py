"""Spec files: a compiled program with what it needs to run, written on one machine and loaded on another.

JSON, fields by name (`plain.py`), beginning with what it is, its version and a checksum of the rest. Reading checks
everything that later stages take for granted; nothing in a file is executed but the BPF programs, by the kernel.
"""

from __future__ import annotations

import re

from sonde.model.aggregating import FUNCTIONS
from sonde.model.conversions import MOST_COLUMNS
from sonde.model.named_maps import SITES, sites_row_size
from sonde.model.plain import PlainError, from_plain, show, to_plain
from sonde.model.probe import StaticPattern, StaticProbe, Uprobe
from sonde.model.records import (
    AggregationSpec,
    CommandAction,
    EmptyAction,
    Field,
    PrintaAction,
    PrintAction,
    PrintfAction,
    ShowAction,
)
from sonde.model.spec import ProgramSpec, TracingSpec
from sonde.typed import Any, NamedTuple

FORMAT = "sonde spec"
VERSION = 1

_FIELD_KINDS = frozenset(
    (
        "int",
        "string",
        "interned",
        "long_string",
        "long_bytes",
        "bytes",
        "stack",
        "ustack",
        "symbol",
        "user_symbol",
        "named",
        "noted",
    )
)
_STAMPS = frozenset(("cookie", "realtime_offset", "namespace_device", "namespace_inode", "symbol", "target", "tracer"))
_FLAGS = frozenset("#0-+ ',?@")
_FRAMES = re.compile("[0-9]{0,4}")
"""Nothing that a file says may get into the source of a formatter but numbers and what is quoted there."""
_INSTRUCTION = 8
_MOST_FIELDS = 1 << 14
"""Values in a record: a program of a million instructions, which is the most, records fewer."""
_LD_IMM64 = 0x18
"""Of struct bpf_insn: its bytes, and the first one of those that load a constant of 64 bits."""


class SpecFileError(Exception):
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
    import json  # as below

    try:
        spec |= {"language": language, "texts": json.loads(texts)}
    except (ValueError, RecursionError):
        raise SpecFileError("it is damaged: what its report is to show is not known") from None


def _outer(text: str) -> dict[str, Any]:
    """The object with a version that is a number."""
    import json  # an import that most runs do without

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
    import hashlib  # an import that most runs do without
    import json

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
    check_layouts(spec)


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


def check_layouts(spec: TracingSpec) -> None:
    """That records, the keys of aggregations and types can be read as they are described. Raises SpecFileError."""
    for each in spec.aggregations:
        _check_values(each)
        _check_fields(each.keys, each.key_size)
        sizes = [field.size for field in each.keys if field.kind == "int"]
        _require(all(size in (1, 2, 4, 8) for size in sizes), "a key is an integer of no known size")
    for layout in spec.records:
        fields = sum(len(getattr(action, "fields", "1")) for action in layout.actions)
        _require(fields <= _MOST_FIELDS, "a record has more values than any program records")
        for action in layout.actions:
            _check_action(action, layout.size, len(spec.aggregations), len(spec.arrays))
            if isinstance(action, PrintAction):
                _require(0 <= action.type < len(spec.types), "an action names no type")
                name = action.label.replace("@", "", 1)
                _require(not name or (name.isascii() and name.isidentifier()), "an action names no variable")
    for shown in spec.shown:
        _check_action(shown, 0, len(spec.aggregations), len(spec.arrays))
    for number, described in enumerate(spec.types):
        # Each stands behind those it consists of, so that none contains itself.
        parts = [described.element] if described.kind == "array" else [each.type for each in described.members]
        _require(all(0 <= each < number for each in parts), f"type {described.name} consists of none that is known")


def _check_values(aggregation: AggregationSpec) -> None:
    """That its values are those of its function, whose parameters are in the bounds that the language sets."""
    function, parameters = FUNCTIONS.get(aggregation.function), aggregation.parameters
    if function is None:
        raise SpecFileError(f"it is damaged: an aggregation has the unknown function {aggregation.function!r}")
    _require(function.has_parameters(parameters), f"{function.name} has other parameters")
    _require(aggregation.words == function.size(*parameters), f"aggregation @{aggregation.name} has other values")


def _check_action(action: Any, size: int, aggregations: int, arrays: int) -> None:
    for value in action:
        parts = value if isinstance(value, tuple) and not hasattr(value, "_fields") else (value,)
        _check_fields([part for part in parts if isinstance(part, Field)], size)
    if isinstance(action, (PrintfAction, PrintaAction, CommandAction)):
        for each in action.conversions or ():
            stars = [each.width, each.precision]
            _require(all(map(_is_width, stars)), "a format has an unknown width")
            _require(_FLAGS.issuperset(each.flags), "a format has an unknown flag")
            _require(all(c.isalnum() or c in "@%" for c in each.letters), "a format has an unknown conversion")
    if isinstance(action, ShowAction):
        _require(0 <= action.number < (arrays if action.is_array else aggregations), "an action names nothing to show")
    if isinstance(action, EmptyAction):
        _require(0 <= action.array < arrays, "an action names no array")
    used = getattr(action, "aggregations", ()) or (getattr(action, "aggregation", 0),)
    if hasattr(action, "aggregation") or hasattr(action, "aggregations"):
        _require(all(0 <= number < aggregations for number in used), "an action names no aggregation")


def _is_width(width: int | str | None) -> bool:
    return width in (None, "*") or (isinstance(width, int) and abs(width) <= MOST_COLUMNS)


def _check_fields(fields: Any, size: int) -> None:
    for field in fields:
        _require(field.kind in _FIELD_KINDS, f"a field is of the unknown kind {field.kind!r}")
        _require(field.offset >= 0 and field.size > 0 and field.offset + field.size <= size, "a field is out of bounds")
        if field.kind in ("stack", "ustack"):
            _require(field.size % 8 == 0, "a stack is not of whole addresses")
            _require(_FRAMES.fullmatch(field.detail) is not None, "a stack has an unknown number of frames")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SpecFileError(f"it is damaged: {otherwise}")
