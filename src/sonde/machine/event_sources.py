"""Where perf events come from: /sys/bus/event_source/devices (Documentation/ABI/testing/
sysfs-bus-event_source-devices-format and -events).

A source has a number, files that say where in struct perf_event_attr each of its terms goes (`format/`), and events
that are written in those terms (`events/`): `event=0x3c,umask=0x1`.
"""

from __future__ import annotations

import os
import re

from sonde.machine.system import parse_cpus
from sonde.untrusted import kernel_text

DEVICES = "/sys/bus/event_source/devices"

_WORDS = ("config", "config1", "config2")
_PLACE = re.compile(r"(config[12]?):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)")
_TERM = re.compile(r"([A-Za-z0-9_.\-]+)(?:=(0x[0-9a-fA-F]+|\d+|\?))?")
_OF_EVENTS = (".scale", ".unit", ".per-pkg", ".snapshot")
"""Files beside an event's own that say more about it."""

Config = tuple[int, int, int]
"""attr.config, config1 and config2."""


class EventSourceError(Exception):
    """An event cannot be counted: why, in words for the user."""


def sources(root: str = DEVICES) -> list[str]:
    """The names of all sources; none where the kernel has no perf events."""
    try:
        return sorted(os.listdir(root))
    except FileNotFoundError:
        return []


def events(source: str, root: str = DEVICES) -> dict[str, str]:
    """A source's events: what each is in terms of the source."""
    directory = f"{root}/{source}/events"
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return {}
    return {name: _read(f"{directory}/{name}") for name in names if not name.endswith(_OF_EVENTS)}


def number(source: str, root: str = DEVICES) -> int:
    """attr.type. Raises OSError."""
    return int(_read(f"{root}/{source}/type"))


def cpus(source: str, root: str = DEVICES) -> tuple[int, ...]:
    """Those that stand for all where a source belongs to a package or the whole machine, not to a CPU; else ()."""
    try:
        return parse_cpus(_read(f"{root}/{source}/cpumask"))
    except OSError:
        return ()


def has_processor_events(root: str = DEVICES) -> bool:
    """Whether there is a performance monitoring unit of the processor, so that hardware events count: `cpu`, or,
    where kinds of CPUs have their own and on other architectures, one that says which CPUs it is for."""
    return any(name == "cpu" or os.path.exists(f"{root}/{name}/cpus") for name in sources(root))


def encode(source: str, text: str, root: str = DEVICES) -> Config:
    """An event in terms of its source -> the words of struct perf_event_attr. Raises EventSourceError."""
    words = dict.fromkeys(_WORDS, 0)
    for term in filter(None, text.split(",")):
        form = _TERM.fullmatch(term.strip())
        if form is None:
            raise EventSourceError(f"{term} of event source {source} is not understood")
        name, value = form[1], form[2] or "1"
        if value == "?":
            raise EventSourceError(f"the event has a parameter, {name}, which probes have no place for")
        if name in words:
            words[name] |= int(value, 0)
            continue
        try:
            place = _read(f"{root}/{source}/format/{name}")
        except OSError:
            raise EventSourceError(f"event source {source} does not say where {name} goes") from None
        word, bits = _spread(place, int(value, 0), f"{name}={value}")
        words[word] |= bits
    return words["config"], words["config1"], words["config2"]


def _spread(place: str, value: int, term: str) -> tuple[str, int]:
    """A value's bits where `config:0-7,32-35` wants them, the lowest first: the word, and what it gets."""
    form = _PLACE.fullmatch(place)
    if form is None:
        raise EventSourceError(f"{place}, where {term} is to go, is not understood")
    bits = 0
    for part in form[2].split(","):
        low, _, high = part.partition("-")
        width = int(high or low) - int(low) + 1
        bits |= (value & ((1 << width) - 1)) << int(low)
        value >>= width
    if value:
        raise EventSourceError(f"{term} does not fit {place}")
    return form[1], bits


def _read(path: str) -> str:
    return kernel_text(path).strip()
