"""What the providers of Solaris's kernel statistics have in common: a probe fires when a number grows, and tells by how
much. The number itself, which DTrace points to with arg1, is nowhere in Linux: arg1 is 0."""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, NativeArgument, ShownArgument

_SHOWN = (ShownArgument("uint64_t", 0),)


def grows(
    event: str, condition: str = "", by: str = "1", *more: Definition, before: tuple[str, ...] = ()
) -> Definition:
    """A probe that fires with the event and says how much a statistic grows by it."""
    return Definition(event, condition, (NativeArgument("uint64_t", by),), _SHOWN, before, more)
