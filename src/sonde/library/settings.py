"""Options of -x as Python's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.d.programs.attributes import check_attributes
from sonde.library.errors import Error
from sonde.model.options import OptionError, OptionTable
from sonde.typed import TypeAlias

OptionValue: TypeAlias = "str | int | bool | None"


def option_texts(options: Mapping[str, OptionValue] | None) -> tuple[tuple[str, str | None], ...]:
    """As the command line has them."""
    return tuple((name, _text(value)) for name, value in (options or {}).items())


def _text(value: OptionValue) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value)


def option_table(given: Sequence[tuple[str, str | None]]) -> OptionTable:
    """Raises Error for an option that there is not, or a value that it cannot have."""
    table = OptionTable()
    for name, text in given:
        try:
            table.set(name, text)
            check_attributes(name, text)
        except OptionError as error:
            raise Error(f"option {name}: {error}", error.hint) from None
    return table
