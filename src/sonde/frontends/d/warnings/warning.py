"""What a program that compiles may do otherwise than its writer thinks."""

from __future__ import annotations

from sonde.model.errors import Position
from sonde.typed import NamedTuple


class Warning(NamedTuple):
    """Where it is, what happens there, in one line, and what helps."""

    position: Position
    text: str
    remedy: str
