"""What a recording begins with: the parts of a `TracingSpec` that it takes to show it, as JSON.

A named tuple is {"class": name, "values": [...]}, bytes are {"bytes": base64}, tuples are lists.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from sonde.consume.options import Options
from sonde.model import spec as specification
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.spec import SPECULATIONS, MapSpec, TracingSpec
from sonde.typed import Any

_CLASSES = {
    one.__name__: one
    for one in (
        specification.Field, specification.TraceAction, specification.TracememAction, specification.PrintfAction,
        specification.PrintAction, specification.PrintaAction, specification.ExitAction, specification.ClearAction,
        specification.TruncAction,
        specification.NormalizeAction, specification.SetOptionAction, specification.CommandAction,
        specification.OtherAction, specification.PacketAction, specification.CaptureAction, specification.RecordLayout,
        specification.AggregationSpec, Conversion, Probe, Internal, specification.TypeSpec, specification.MemberSpec,
        MapSpec,
    )
}  # fmt: skip


class RawFileError(Exception):
    """The file is not a raw file of this format, or it is damaged."""


def encode(value: Any) -> Any:
    """A value of the spec as JSON: named tuples as {"class": name, "values": [...]}, bytes as {"bytes": base64}."""
    if isinstance(value, tuple):
        items = [encode(item) for item in value]
        return {"class": type(value).__name__, "values": items} if hasattr(value, "_fields") else items
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def decode(value: Any) -> Any:
    """The value of that JSON. Raises KeyError, TypeError or ValueError for any that `encode` does not make."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    return _CLASSES[value["class"]](*decode(value["values"]))


def describe(spec: TracingSpec, rings: int, options: Options) -> bytes:
    """The description of a session with so many rings, as a recording has it."""
    probes = without_firings(spec.probes)
    shown = tuple((name, getattr(options, name)) for name in Options.__slots__)
    maps = tuple(each for each in spec.maps if each.name in (SPECULATIONS, specification.WAITING))
    parts = (spec.records, spec.aggregations, spec.strings, probes, rings, shown, spec.types, maps)
    return json.dumps([encode(part) for part in parts]).encode()


def without_firings(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """How a probe is fired does not matter any more, and what it says may be private."""
    return tuple(probe._replace(firing=Internal("")) for probe in probes)


def found_probes(payload: bytes) -> tuple[tuple[bytes, ...], tuple[Probe, ...]]:
    """The strings and probes that were found while tracing. Raises RawFileError."""
    from sonde.model.plain import PlainError, from_plain, to_plain

    try:
        strings, probes = decode(json.loads(payload))
        probes = tuple(from_plain(Probe, to_plain(each)) for each in probes)
        if not all(isinstance(each, bytes) for each in strings):
            raise TypeError("a string that is none")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, PlainError) as error:
        raise RawFileError(f"the probes that were found while tracing are damaged: {error}") from None
    return tuple(strings), probes


def checked(spec: TracingSpec) -> TracingSpec:
    """The same, if every value in it is of the kind that it should be and in its bounds: code is generated of it.

    Raises RawFileError.
    """
    from sonde.model.plain import PlainError, from_plain, to_plain
    from sonde.model.specfile import SpecFileError, check_layouts

    try:
        found: TracingSpec = from_plain(TracingSpec, to_plain(spec))
        check_layouts(found)
    except SpecFileError as error:
        raise RawFileError(str(error)) from None
    except PlainError as error:
        raise RawFileError(f"the description is damaged: {error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise RawFileError(f"the description is damaged: {error or 'a value that does not fit'}") from None
    return found
