"""What pandas is to know of a table: which of its types each column has.

Without it pandas makes floats of a column of integers where one is missing, and these have 53 bits
(https://pandas.pydata.org/docs/development/developer.html#storing-pandas-dataframe-objects-in-apache-parquet-format).
"""

from __future__ import annotations

import json

import pyarrow as pa

from sonde import __version__
from sonde.typed import Any

PANDAS = b"pandas"
"""The key of the metadata."""

_FORMAT = "1.5.0"
"""The version of pandas whose metadata these are."""


def pandas_metadata(schema: Any) -> str:
    """The metadata of a schema, JSON. Integers have the types of pandas that know missing values."""
    return json.dumps(
        {
            "index_columns": [],
            "column_indexes": [],
            "columns": [_column(field.name, field.type) for field in schema],
            "creator": {"library": "sonde", "version": __version__},
            "pandas_version": _FORMAT,
        }
    )


def _column(name: str, kind: Any) -> dict[str, Any]:
    logical, physical, more = _types(kind)
    return {"name": name, "field_name": name, "pandas_type": logical, "numpy_type": physical, "metadata": more}


def _types(kind: Any) -> tuple[str, str, dict[str, str] | None]:
    """The logical type, that of pandas or numpy, and what belongs to it."""
    if pa.types.is_integer(kind):
        return str(kind), str(kind).replace("uint", "UInt").replace("int", "Int"), None
    if pa.types.is_floating(kind):
        bits = f"float{kind.bit_width}"
        return bits, bits, None
    if pa.types.is_timestamp(kind):
        return "datetimetz", f"datetime64[{kind.unit}]", {"timezone": kind.tz}
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return "unicode", "object", None
    return ("bytes" if pa.types.is_binary(kind) else "object"), "object", None
