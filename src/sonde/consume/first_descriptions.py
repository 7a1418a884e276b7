"""Descriptions of the first version, as files of sonde 0.1.0 have them, made such as they are written.

In them a named tuple is {"class": name, "values": [...]}, bytes are {"bytes": base64}, and the whole is a list.
"""

from __future__ import annotations

import base64

from sonde.model import records
from sonde.model.conversions import Conversion
from sonde.model.plain import TAG
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
    """JSON that `from_plain` takes. Raises KeyError, TypeError or ValueError for a list that is none of these."""
    found = dict(zip(_WHOLES[whole], map(_value, data), strict=True))
    if whole == "Description":
        found["version"] = 2
        found["options"] = [dict(zip(("name", "value"), each, strict=True)) for each in found["options"]]
    return found


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"]).hex()
    kind, values = _CLASSES[value["class"]], [_value(each) for each in value["values"]]
    if len(values) > len(kind._fields):
        raise ValueError(f"a {value['class']} of {len(values)} values")
    fields = dict(zip(kind._fields, values, strict=False))
    return {TAG: value["class"], **fields} if value["class"] in _ONE_OF_SEVERAL else fields
