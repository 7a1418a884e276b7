"""Descriptions of the first version, as files of sonde 0.1.0 have them, made such as they are written.

In them a named tuple is {"class": name, "values": [...]}, bytes are {"bytes": base64}, and the whole is a list.
"""

from __future__ import annotations

import base64

from sonde.model import records
from sonde.model.conversions import Conversion
from sonde.model.plain import TAG, PlainError
from sonde.model.probe import Internal, Probe
from sonde.model.spec import MapSpec
from sonde.typed import Any

_WHOLES = {
    "Description": ("records", "aggregations", "strings", "probes", "rings", "options", "types", "maps"),
    "FoundProbes": ("strings", "probes"),
}
"""What stands in the list, by the class of `description.py`."""

_ONE_OF_SEVERAL = {each.__name__: each for each in (*records.Action.__args__, Internal)}
_CLASSES = _ONE_OF_SEVERAL | {
    each.__name__: each
    for each in (
        records.AggregationSpec, records.Field, MapSpec, records.MemberSpec,
        records.RecordLayout, records.TypeSpec, Conversion, Probe,
    )
}  # fmt: skip


def upgraded(whole: str, data: list[Any]) -> dict[str, Any]:
    """JSON that `from_plain` takes. Raises PlainError for a list that is none of these."""
    names = _WHOLES.get(whole)
    if names is None or len(names) != len(data):
        raise PlainError("the whole is none of the first version")
    found = dict(zip(names, map(_value, data), strict=True))
    if whole == "Description":
        found["version"] = 2
        options = found["options"]
        if not isinstance(options, list) or not all(isinstance(each, list) and len(each) == 2 for each in options):
            raise PlainError("options are not pairs")
        found["options"] = [dict(zip(("name", "value"), each, strict=True)) for each in options]
    return found


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return _bytes(value["bytes"])
    name, values = value.get("class"), value.get("values")
    kind = _CLASSES.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(values, list) or len(values) > len(kind._fields):
        raise PlainError("an object is of no class of the first version")
    fields = dict(zip(kind._fields, map(_value, values), strict=False))
    return {TAG: name, **fields} if name in _ONE_OF_SEVERAL else fields


def _bytes(value: Any) -> str:
    try:
        return base64.b64decode(value if isinstance(value, str) else "=").hex()
    except ValueError:
        raise PlainError("bytes are not base64") from None
