"""What a recording begins with: the parts of a `TracingSpec` that it takes to show it, as JSON (`model/plain.py`)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sonde.consume import first_descriptions
from sonde.consume.options import Options
from sonde.formats.damage import DamagedError
from sonde.formats.raw_file import RawFileError
from sonde.model import layout_checks
from sonde.model.known_options import OPTIONS
from sonde.model.named_maps import SPECULATIONS, WAITING
from sonde.model.plain import PlainError, from_plain, to_plain
from sonde.model.probe import Internal, Packet, Probe
from sonde.model.python_functions import NumberedFunction
from sonde.model.records import AggregationSpec, ArraySpec, RecordLayout, ShowAction, TypeSpec
from sonde.model.report_texts import ReportTexts
from sonde.model.spec import MapSpec, ProgramSpec, SourceFunction, TracingSpec
from sonde.typed import Any, NamedTuple

VERSION = 2

_MOST_RINGS = 1 << 16

_LEAST_PARTS, _BYTES_OF_PART = 1 << 16, 8
"""Objects and lists in a text of JSON, which take 60 to 200 bytes of memory each: so many, and one for so many bytes of
the text. Descriptions have one for 25 and more."""


class ShownOption(NamedTuple):
    """An option that decides how something is shown, as `Options` has it."""

    name: str
    value: bool | int


class Description(NamedTuple):
    """A session with so many `rings`: what its records and aggregations are, and the options when it began. `maps` are
    those that the consumer asks for. Of `programs`, which a report that quotes the program has, only the places in the
    text are there. The rest is as `TracingSpec` has it."""

    version: int
    rings: int
    options: tuple[ShownOption, ...]
    records: tuple[RecordLayout, ...]
    aggregations: tuple[AggregationSpec, ...]
    strings: tuple[bytes, ...]
    probes: tuple[Probe, ...]
    types: tuple[TypeSpec, ...]
    maps: tuple[MapSpec, ...]
    arrays: tuple[ArraySpec, ...] = ()
    shown: tuple[ShowAction, ...] = ()
    language: str = "d"
    texts: ReportTexts | None = None
    programs: tuple[ProgramSpec, ...] = ()
    functions: tuple[SourceFunction, ...] = ()


class FoundProbes(NamedTuple):
    """Probes that were found while tracing, and the strings behind those that there were."""

    strings: tuple[bytes, ...]
    probes: tuple[Probe, ...]


class FoundFunctions(NamedTuple):
    """Functions of Python that were met while tracing."""

    functions: tuple[NumberedFunction, ...]


def describe(spec: TracingSpec, rings: int, options: Options) -> bytes:
    """The description of a session with so many rings, as a recording has it."""
    probes = _with_links_alone(spec.probes)
    shown = tuple(ShownOption(name, getattr(options, name)) for name in Options.__slots__)
    maps = tuple(each for each in spec.maps if each.name in (SPECULATIONS, WAITING))
    described = Description(
        VERSION, rings, shown, spec.records, spec.aggregations, spec.strings, probes, spec.types, maps,
        spec.arrays, spec.shown, spec.language, spec.texts,
        tuple(map(_with_places_alone, spec.programs)) if spec.texts is not None or spec.functions else (),
        spec.functions,
    )  # fmt: skip
    return json.dumps(to_plain(described)).encode()


def _with_places_alone(program: ProgramSpec) -> ProgramSpec:
    """What tells where in its text a program was when it failed."""
    served = tuple(each._replace(probe=each.probe._replace(firing=Internal(""))) for each in program.probes)
    return ProgramSpec(
        program.name, program.kind, program.attach_type, b"", (), served, line_info=program.line_info,
        lines=program.lines,
    )  # fmt: skip


def describe_found(strings: Iterable[bytes], probes: Iterable[Probe]) -> bytes:
    """The same of what was found while tracing."""
    return json.dumps(to_plain(FoundProbes(tuple(strings), _with_links_alone(probes)))).encode()


def describe_functions(functions: Iterable[NumberedFunction]) -> bytes:
    """Functions of Python that stacks have by number."""
    return json.dumps(to_plain(FoundFunctions(tuple(functions)))).encode()


def _with_links_alone(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """How a probe is fired does not matter any more, and what it says may be private; but packets begin as it says."""
    return tuple(probe if isinstance(probe.firing, Packet) else probe._replace(firing=Internal("")) for probe in probes)


def described(payload: bytes) -> tuple[TracingSpec, int, Options]:
    """The spec, the number of rings and the options. Every value is of the kind that it should be and in its bounds:
    code is generated of it. Raises RawFileError."""
    found: Description = _read(Description, payload, "the description is damaged")
    if not 0 <= found.rings <= _MOST_RINGS:
        raise RawFileError("the description is damaged: the number of rings")
    spec = TracingSpec(
        found.maps, found.programs, found.records, found.aggregations, found.strings, found.probes, types=found.types,
        arrays=found.arrays, shown=found.shown, language=found.language, texts=found.texts, functions=found.functions,
    )  # fmt: skip
    try:
        layout_checks.check_layouts(spec)
    except DamagedError as error:
        raise RawFileError(str(error)) from None
    return spec, found.rings, _options(found.options)


def found_probes(payload: bytes) -> FoundProbes:
    """The strings and probes that were found while tracing. Raises RawFileError."""
    found: FoundProbes = _read(FoundProbes, payload, "the probes that were found while tracing are damaged")
    return found


def found_functions(payload: bytes) -> tuple[NumberedFunction, ...]:
    """The functions of Python whose numbers stand in stacks. Raises RawFileError."""
    found: FoundFunctions = _read(FoundFunctions, payload, "the functions of Python are damaged")
    return found.functions


def _read(kind: type, payload: bytes, otherwise: str) -> Any:
    if payload.count(b"{") + payload.count(b"[") > _LEAST_PARTS + len(payload) // _BYTES_OF_PART:
        raise RawFileError(f"{otherwise}: nothing but brackets")
    try:
        data = json.loads(payload)
    except (ValueError, RecursionError):
        raise RawFileError(f"{otherwise}: it is not JSON") from None
    try:
        if isinstance(data, list):
            data = first_descriptions.upgraded(kind.__name__, data)
        _require_known(data)
        return from_plain(kind, data)
    except PlainError as error:
        raise RawFileError(f"{otherwise}: {error}") from None
    except RecursionError:
        raise RawFileError(f"{otherwise}: it is nested too deeply") from None


def _require_known(data: Any) -> None:
    """Only the whole has a version, not what is found later."""
    version = data.get("version") if isinstance(data, dict) else VERSION
    if isinstance(version, int) and version != VERSION:
        raise RawFileError(f"its description is of version {version}, which this sonde does not know")


def _options(shown: Iterable[ShownOption]) -> Options:
    options = Options()
    for name, value in shown:
        is_kind = name in Options.__slots__ and type(value) is type(getattr(options, name))
        option = OPTIONS.get(name)
        if not is_kind or (option is not None and not option.least <= value <= option.most):
            raise RawFileError(f"the description is damaged: option {name}")
        setattr(options, name, value)
    return options
