"""pyarrow, an extra: imported by who asks for tables."""

from __future__ import annotations

from sonde.library.errors import Error
from sonde.typed import Any


def require_arrow() -> None:
    """Raises Error where there is no pyarrow."""
    try:
        import pyarrow  # noqa: F401 (whether it is there)
    except ImportError:
        raise Error("tables are made by pyarrow, which is not there", "install sonde-trace[arrow]") from None


def frame_of(table: Any) -> Any:
    """The pandas.DataFrame of a pyarrow.Table: integers stay integers where some are missing. Raises Error."""
    try:
        import pandas  # an extra
    except ImportError:
        raise Error("data frames are made by pandas, which is not there", "install pandas") from None
    kinds = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    types = {kind.lower(): getattr(pandas, f"{kind}Dtype") for kind in kinds}

    def mapped(found: Any) -> Any:
        made = types.get(str(found))
        return made() if made is not None else None

    # Integers within lists and structures have no type of pandas: without it missing ones make floats of the others.
    return table.to_pandas(types_mapper=mapped, integer_object_nulls=True)
