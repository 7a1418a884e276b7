"""Options of -x: as Python's values, as texts of the command line, and as what a session looks them up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.frontends.option_values import check_attributes
from sonde.library.errors import Error
from sonde.model.known_options import OPTIONS
from sonde.model.options import LANGUAGE_VERSION as LANGUAGE_VERSION
from sonde.model.options import OptionError, similar, value_wanted
from sonde.model.options import OptionTable as OptionTable
from sonde.model.options import from_environment as from_environment
from sonde.model.options import names as names
from sonde.session.replay_inputs import packets_of as packets_of
from sonde.session.replay_inputs import recording_of as recording_of
from sonde.typed import TypeAlias

OptionValue: TypeAlias = "str | int | bool | None"


class OptionRefusedError(Error):
    """There is no option of that `name`, or it cannot have that value: `reason` says which, in DTrace's words."""

    def __init__(self, name: str, value: str | None, reason: str) -> None:
        super().__init__(f"option {name}: {reason}")
        self.args = (name, value, reason)
        self.name = name
        self.value = value
        self.reason = reason
        close = self.similar()
        self.remedy = f"did you mean {' or '.join(close)}?" if close else self.wanted()[0]

    def similar(self) -> tuple[str, ...]:
        """Names of options that are spelled nearly so, if there is none of this name."""
        return similar(self.name)

    def wanted(self) -> tuple[str, tuple[str, ...]]:
        """What the option takes, and values that may have been meant; nothing of one that there is not."""
        try:
            return value_wanted(self.name, self.value or "")
        except OptionError:
            return "", ()


def option_texts(options: Mapping[str, OptionValue] | None) -> tuple[tuple[str, str | None], ...]:
    """As the command line has them."""
    given = dict(options or {})
    return tuple((name, _text(name, value)) for name, value in given.items() if not _is_left_off(name, value))


def _text(name: str, value: OptionValue) -> str | None:
    if isinstance(value, bool):
        return None if value and _is_bare(name) else "yes" if value else "no"
    return None if value is None else str(value)


def _is_left_off(name: str, value: OptionValue) -> bool:
    """A switch that its name alone switches on is off without it."""
    return value is False and _is_bare(name)


def _is_bare(name: str) -> bool:
    return name in OPTIONS and OPTIONS[name].is_bare


def option_table(given: Sequence[tuple[str, str | None]]) -> OptionTable:
    """Raises OptionRefusedError."""
    table = OptionTable()
    for name, text in given:
        set_option(table, name, text)
    return table


def set_option(table: OptionTable, name: str, text: str | None) -> None:
    """Set an option as the command line does. Raises OptionRefusedError."""
    try:
        table.set(name, text)
        check_attributes(name, text)
    except OptionError as error:
        raise OptionRefusedError(name, text, str(error)) from None
