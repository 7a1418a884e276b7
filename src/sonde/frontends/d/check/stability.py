"""Stability attributes: name, data and dependency class, as `#pragma D attributes` and the option amin give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.typed import NamedTuple

STABILITIES = ("Internal", "Private", "Obsolete", "External", "Unstable", "Evolving", "Stable", "Standard")
CLASSES = ("Unknown", "CPU", "Platform", "Group", "ISA", "Common")


class StabilityAttributes(NamedTuple):
    """Indexes into `STABILITIES` (twice) and `CLASSES`; greater is more stable."""

    name: int
    data: int
    dependency: int

    def __str__(self) -> str:
        return f"{STABILITIES[self.name]}/{STABILITIES[self.data]}/{CLASSES[self.dependency]}"

    def at_least(self, other: StabilityAttributes) -> bool:
        return self.name >= other.name and self.data >= other.data and self.dependency >= other.dependency


def parse_attributes(text: str) -> StabilityAttributes | None:
    """`Stable/Evolving/Common`; None if it is not of that form."""
    words = text.split("/")
    if len(words) != 3 or words[0] not in STABILITIES or words[1] not in STABILITIES or words[2] not in CLASSES:
        return None
    return StabilityAttributes(STABILITIES.index(words[0]), STABILITIES.index(words[1]), CLASSES.index(words[2]))


def require_attributes(
    what: str, attributes: StabilityAttributes, least: StabilityAttributes | None, position: Position
) -> None:
    """Refuse what is less stable than the option amin wants."""
    if least is not None and not attributes.at_least(least):
        text = f"attributes for {what} ({attributes}) are less than predefined minimum"
        raise DError("D_ATTR_MIN", text, position)


def least(found: Iterable[StabilityAttributes]) -> StabilityAttributes:
    """The least of each column."""
    return StabilityAttributes(*map(min, zip(*found, strict=True)))


def _attributes(text: str) -> StabilityAttributes:
    parsed = parse_attributes(text)
    assert parsed is not None
    return parsed


class Stability(NamedTuple):
    """Of a provider's name, and of its modules, functions, names and arguments."""

    provider: StabilityAttributes
    module: StabilityAttributes
    function: StabilityAttributes
    name: StabilityAttributes
    arguments: StabilityAttributes


def _stability(*texts: str) -> Stability:
    return Stability(*map(_attributes, texts))


_STABLE, _EVOLVING, _LOCAL = "Stable/Stable/Common", "Evolving/Evolving/Common", "Evolving/Evolving/ISA"
_PRIVATE, _PRIVATE_ISA = "Private/Private/Unknown", "Private/Private/ISA"
_TIMED = _stability(_EVOLVING, "Unstable/Unstable/Unknown", _PRIVATE, _EVOLVING, _EVOLVING)
_FUNCTIONS = _stability(_EVOLVING, _PRIVATE, _PRIVATE_ISA, _EVOLVING, _PRIVATE_ISA)
_EVENTS = _stability(_LOCAL, _PRIVATE, _PRIVATE, _PRIVATE_ISA, _PRIVATE_ISA)
_DERIVED = _stability(_LOCAL, _PRIVATE, _PRIVATE, _LOCAL, _LOCAL)
_USER = _stability(_LOCAL, _PRIVATE, _PRIVATE, _LOCAL, _PRIVATE)
_OPEN = _stability(*("Unstable/Unstable/Common" for _ in Stability._fields))
"""Of a description that leaves the provider open."""

PROVIDERS = {
    "dtrace": _stability(_STABLE, _PRIVATE, _PRIVATE, _STABLE, _STABLE),
    **dict.fromkeys(("profile", "cpc", "perf"), _TIMED),
    **dict.fromkeys(("fbt", "rawfbt", "syscall"), _FUNCTIONS),
    **dict.fromkeys(("rawtp", "sdt", "packet", "iter"), _EVENTS),
    **dict.fromkeys(
        ("fsinfo", "io", "ip", "lockstat", "mib", "nfsv3", "nfsv4", "proc", "sched", "sysinfo", "tcp", "udp", "vminfo"),
        _DERIVED,
    ),
}
"""As DTrace's providers say of themselves; those that are not here are of processes."""


def _is_open(field: str) -> bool:
    return not field or any(sign in field for sign in "*?[\\")


def provider_stability(provider: str) -> Stability:
    return _OPEN if _is_open(provider) else PROVIDERS.get(provider, _USER)


def description_attributes(fields: Sequence[str], matched: int = 1) -> StabilityAttributes:
    """How stable a description of so many probes is: as its least stable field. One that matches none, or several by a
    field in which the provider's probes differ, is not stable at all."""
    found = provider_stability(fields[0])
    if not matched or (matched > 1 and is_ambiguous(fields)):
        return _OPEN.provider
    return least(
        (found.provider, *(of for of, field in zip(found[1:4], fields[1:], strict=True) if not _is_open(field)))
    )


def is_ambiguous(fields: Sequence[str]) -> bool:
    """Whether the probes that a description matches may have different arguments: a field that programs may rely on is
    left open."""
    found = provider_stability(fields[0])
    evolving = STABILITIES.index("Evolving")
    open_fields = (of.name >= evolving and _is_open(field) for of, field in zip(found[1:4], fields[1:], strict=True))
    return (found.arguments.data < evolving and _is_open(fields[0])) or any(open_fields)
