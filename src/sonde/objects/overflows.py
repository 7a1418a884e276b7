"""The sections `perf_event/...`: which perf event's overflows a program handles.

perf_event, perf_event/RATE                a clock on each CPU: 99hz, 997, 10ms
perf_event/SOURCE/EVENT/COUNT              an event as D's provider perf names it: software/page-faults/1
perf_event/tracepoint/GROUP/EVENT/COUNT    a trace event, each COUNT-th that the program lets through is sampled
"""

from __future__ import annotations

import re

from sonde.machine import event_sources
from sonde.model.probe import PerfEvent, Timer, Tracepoint
from sonde.model.samples import CLOCKS
from sonde.model.units import MICROSECOND, MILLISECOND, SECOND
from sonde.objects.errors import ObjectError
from sonde.providers.counted import SHORTEST, counted, too_short
from sonde.providers.event_names import EventNames, NoEventError

TRACEPOINT = "tracepoint"

_USUAL_RATE = 99
_RATE = re.compile(r"(\d{1,6})(hz|ms|us|s)?", re.ASCII)
_COUNT = re.compile(r"(\d{1,19})(hz|ms|us|s)?", re.ASCII)
_UNITS = {"s": SECOND, "ms": MILLISECOND, "us": MICROSECOND}
_EVENT = re.compile(r"(.+?)(?:-([uk]))?", re.DOTALL)
_MODES = {"u": "user", "k": "kernel", None: "all"}
_MOST = (1 << 63) - 1

_FORMS = 'write SEC("perf_event/99hz"), SEC("perf_event/10ms") or SEC("perf_event/software/page-faults/1")'
_ELSEWHERE = "--attach PROGRAM=software/cpu-clock/99hz attaches the program to a clock instead"
_TRACEPOINT_FORM = 'write SEC("perf_event/tracepoint/GROUP/EVENT/COUNT")'


def overflow(rest: str, section: str, root: str = event_sources.DEVICES) -> Timer | PerfEvent | Tracepoint:
    """What is behind `perf_event/` in a section's name. `root` is where the kernel tells of event sources. Raises
    ObjectError."""
    if not rest:
        return Timer(SECOND // _USUAL_RATE, True)
    source, *others = rest.split("/")
    if not others:
        return _clock(rest, section)
    if source == TRACEPOINT:
        return _trace_event(others, section)
    if len(others) != 2 or not all(others):
        raise ObjectError(f"{section} is no event, with how many of it make an overflow", _FORMS)
    return _counted(source, others[0], others[1], section, root)


def _clock(rest: str, section: str) -> Timer:
    found = _RATE.fullmatch(rest)
    if found is None or not int(found[1]):
        raise ObjectError(f"{section} is no rate", _FORMS)
    period = _period(int(found[1]), found[2] or "hz")
    if period < SHORTEST:
        raise ObjectError(f"{section} is too fast: the shortest period of the kernel's clocks is {SHORTEST} ns")
    return Timer(period, True)


def _period(number: int, unit: str) -> int:
    """In ns."""
    return SECOND // number if unit == "hz" else number * _UNITS[unit]


def _trace_event(words: list[str], section: str) -> Tracepoint:
    if len(words) != 3 or not all(words):
        raise ObjectError(f"{section} does not name a trace event and how many make a sample", _TRACEPOINT_FORM)
    group, name, count = words
    number = int(count) if count.isascii() and count.isdigit() else 0
    if not 0 < number <= _MOST:
        raise ObjectError(f"{section}: {count} is no count of trace events", _TRACEPOINT_FORM)
    return Tracepoint(group, name, period=number)


def _counted(source: str, words: str, count: str, section: str, root: str) -> PerfEvent:
    event = _EVENT.fullmatch(words)
    assert event is not None
    name, mode = event[1], _MODES[event[2]]
    try:
        found, config = EventNames(root).find(source, name)
    except NoEventError as error:
        raise ObjectError(f"{section}: {error}", _ELSEWHERE) from None
    form = _COUNT.fullmatch(count)
    is_clock = found == "software" and config[0] in CLOCKS
    if form is None or not int(form[1]):
        raise ObjectError(f"{section}: {count} does not say how many {name} make an overflow", _FORMS)
    if form[2] and not is_clock:
        raise ObjectError(f"{section}: a rate is for clocks, and {name} is counted", "give a number of them")
    period = _period(int(form[1]), form[2]) if form[2] else int(form[1])
    made = counted(found, config, period, mode)
    if made is None:
        raise ObjectError(f"{section}: {too_short(found, config)}")
    return made
