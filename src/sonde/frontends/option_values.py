"""Values of options that only a language can judge."""

from __future__ import annotations

from sonde.model.known_options import BAD_VALUE
from sonde.model.options import OptionError


def check_attributes(name: str, text: str | None) -> None:
    """The value of the option amin must be one that attributes can have. Raises OptionError."""
    if name != "amin":
        return
    # Rarely set.
    from sonde.frontends.d.check.stability import parse_attributes

    if parse_attributes(text or "") is None:
        raise OptionError(BAD_VALUE)
