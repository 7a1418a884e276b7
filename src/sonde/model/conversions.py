"""The conversions of a printf format, as values: the checker matches arguments to them, the report prints by them."""

from __future__ import annotations

from sonde.typed import NamedTuple

MOST_COLUMNS = 1 << 20
"""The largest width or precision that a record asks for: whoever is traced may have chosen it."""

MOST_WRITTEN = 1 << 24
"""The largest that a program's format has: more is a mistake, or meant to do harm."""


class Conversion(NamedTuple):
    """Literal text, then one conversion (none at the end of the format, where `letters` is "").

    `text` comes first in the output. `flags` are those of `#0-+ ',?@`. `width` and `precision` are numbers, None when
    absent, or "*" when they come from the arguments. `letters` is the conversion without `%` and flags: `d`, `lld`,
    `s`, `Y`. `offset` is where the `%` stands in the format, for messages.
    """

    text: str
    flags: str = ""
    width: int | str | None = None
    precision: int | str | None = None
    letters: str = ""
    offset: int = 0
