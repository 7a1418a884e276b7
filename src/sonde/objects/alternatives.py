"""Programs of one object that do the same in two ways, of which its own user space would load one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sonde.objects.sections import SectionRequest
from sonde.typed import NamedTuple

_WAYS = (
    (re.compile(r"(?:tracepoint|tp)/[^/]+/(.+)"), "tracepoint", "{}"),
    (re.compile(r"raw_(?:tp|tracepoint)(?:\.w)?/(.+)"), "raw tracepoint", "{}"),
    (re.compile(r"tp_btf/(.+)"), "typed tracepoint", "{}"),
    (re.compile(r"fentry(?:\.s)?/(.+)"), "fentry", "{}"),
    (re.compile(r"fexit(?:\.s)?/(.+)"), "fentry", "the return of {}"),
    (re.compile(r"kprobe(?:\.\w+)?/([^+]+)"), "kprobe", "{}"),
    (re.compile(r"kretprobe(?:\.\w+)?/(.+)"), "kprobe", "the return of {}"),
)
"""Sections that attach to an event of the kernel: in which way, and to what."""


class Alternatives(NamedTuple):
    """Programs, with their sections, that are attached to one event in different ways."""

    event: str
    programs: tuple[tuple[str, str], ...]


def alternatives(requests: Mapping[str, SectionRequest]) -> Iterator[Alternatives]:
    """Of what is loaded and attached. Two programs that are attached to an event in the same way are none: one kernel
    has both."""
    by_event: dict[str, list[tuple[str, str, str]]] = {}
    for name, wanted in requests.items():
        for form, way, words in _WAYS if wanted.firings else ():
            found = form.fullmatch(wanted.shown.lstrip("?"))
            if found is not None:
                by_event.setdefault(words.format(found[1]), []).append((way, name, wanted.shown))
    for event, programs in by_event.items():
        if len({way for way, _, _ in programs}) > 1:
            yield Alternatives(event, tuple((name, section) for _, name, section in programs))
