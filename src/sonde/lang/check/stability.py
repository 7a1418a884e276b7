"""Stability attributes: name, data and dependency class, as `#pragma D attributes` and the option amin give them."""

from __future__ import annotations

from sonde.lang.errors import DError, Position
from sonde.typed import NamedTuple

STABILITIES = ("Internal", "Private", "Obsolete", "External", "Unstable", "Evolving", "Stable", "Standard")
CLASSES = ("Unknown", "CPU", "Platform", "Group", "ISA", "Common")


class Attributes(NamedTuple):
    """Indexes into `STABILITIES` (twice) and `CLASSES`; greater is more stable."""

    name: int
    data: int
    dependency: int

    def __str__(self) -> str:
        return f"{STABILITIES[self.name]}/{STABILITIES[self.data]}/{CLASSES[self.dependency]}"

    def at_least(self, other: Attributes) -> bool:
        return self.name >= other.name and self.data >= other.data and self.dependency >= other.dependency


def parse_attributes(text: str) -> Attributes | None:
    """`Stable/Evolving/Common`; None if it is not of that form."""
    words = text.split("/")
    if len(words) != 3 or words[0] not in STABILITIES or words[1] not in STABILITIES or words[2] not in CLASSES:
        return None
    return Attributes(STABILITIES.index(words[0]), STABILITIES.index(words[1]), CLASSES.index(words[2]))


def require_attributes(what: str, attributes: Attributes, least: Attributes | None, position: Position) -> None:
    """Refuse what is less stable than the option amin wants."""
    if least is not None and not attributes.at_least(least):
        text = f"attributes for {what} ({attributes}) are less than predefined minimum"
        raise DError("D_ATTR_MIN", text, position)


_STABLE = Attributes(STABILITIES.index("Stable"), STABILITIES.index("Stable"), CLASSES.index("Common"))
_UNSTABLE = Attributes(STABILITIES.index("Unstable"), STABILITIES.index("Unstable"), CLASSES.index("Common"))


def description_attributes(provider: str) -> Attributes:
    """How stable a probe description is: not at all where it leaves the provider open."""
    return _STABLE if provider in ("dtrace", "profile", "proc", "sched", "io", "syscall") else _UNSTABLE
