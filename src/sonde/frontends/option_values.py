"""Values of options that only a language can judge."""

from __future__ import annotations

from sonde.frontends.d.check import stability
from sonde.model.known_options import BAD_VALUE
from sonde.model.options import OptionError


def check_attributes(name: str, text: str | None) -> None:
    """The value of the option amin must be one that attributes can have. Raises OptionError."""
    if name != "amin":
        return
    # Rarely set.

    if stability.parse_attributes(text or "") is None:
        raise OptionError(BAD_VALUE)
