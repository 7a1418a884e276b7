"""Why a probe description matches nothing: the first of its fields that no probe has, and names like it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches

from sonde.model.probe import Probe
from sonde.providers.pattern import FIELDS, Pattern, matcher

_FEW = 12
"""So many names are all shown."""

_TIMERS = "a timer is tick-N or profile-N, N a rate or a time with a unit, ns to day; the shortest is 200us"


def explained(pattern: Pattern, providers: Sequence[str], match: Callable[..., Sequence[Probe]]) -> str:
    """A sentence about the field; `match` finds the probes of four patterns."""
    if not any(map(matcher(pattern.provider), providers)):
        return _sentence("there is no provider", pattern.provider, providers)
    if pattern.name.startswith(("tick-", "profile-")):
        return _TIMERS
    for count in range(2, len(FIELDS) + 1):
        if match(*_first(pattern, count)):
            continue
        where = ":".join(filter(None, pattern[: count - 1]))
        what = f"{where} has no {FIELDS[count - 1]}" if where else f"there is no {FIELDS[count - 1]}"
        others = match(*_first(pattern, count - 1))
        return _sentence(what, pattern[count - 1], {str(probe[count]) for probe in others} - {""})
    return ""


def alike(pattern: Pattern, providers: Sequence[str], match: Callable[..., Sequence[Probe]]) -> tuple[str, ...]:
    """Descriptions in which that field has a name spelled nearly so. A description without a provider, which all
    have to be asked for, is taken for one of the providers whose probes have names of their own."""
    if pattern.provider and not any(map(matcher(pattern.provider), providers)):
        near = get_close_matches(pattern.provider, providers, cutoff=0.6)
        return tuple(":".join((each, *pattern[1:])) for each in near)
    for provider in (pattern.provider,) if pattern.provider else _WITH_FEW:
        found = tuple(_in_provider(pattern._replace(provider=provider), match))
        if found:
            return found
    return ()


def _in_provider(pattern: Pattern, match: Callable[..., Sequence[Probe]]) -> Iterator[str]:
    for count in range(2, len(FIELDS) + 1):
        if match(*_first(pattern, count)):
            continue
        others = match(*_first(pattern, count - 1))
        names = sorted({str(probe[count]) for probe in others} - {""})
        for name in get_close_matches(pattern[count - 1], names, cutoff=0.6):
            changed = [*pattern]
            changed[count - 1] = name
            yield ":".join(changed)
        return


_WITH_FEW = ("dtrace", "syscall", "proc", "sched", "io", "profile")


def _first(pattern: Pattern, count: int) -> Pattern:
    """The pattern of its first fields alone."""
    return Pattern(*pattern[:count])


def _sentence(what: str, field: str, names: Iterable[str]) -> str:
    there = sorted(names)
    near = get_close_matches(field, there, cutoff=0.6)
    if near:
        return f"{what} {field}; like it: {', '.join(near)}"
    if 0 < len(there) <= _FEW:
        return f"{what} {field}; there are {', '.join(there)}"
    return f"{what} {field}"
