"""The kernel's functions that can be probed: those that ftrace knows, `available_filter_functions` in tracefs.

Their order is that of their addresses, a module's behind the kernel's, and does not change while the kernel runs and
its modules stay: identifiers are made from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sonde import untrusted
from sonde.providers.pattern import matcher, plain
from sonde.typed import NamedTuple

FILE = "available_filter_functions"
VMLINUX = "vmlinux"
_LARGEST = 64 << 20
"""Bytes of the list; that of a kernel with all its modules has some MiB."""

_INVISIBLE = ("__ftrace_invalid_address__", "__probestub_", "__traceiter_")
"""Places that are no functions any more (kernel/trace/ftrace.c), and a tracepoint's own code, which has `rawtp` probes
(include/linux/tracepoint.h)."""


class TraceableFunction(NamedTuple):
    """A function by its place in the list. `is_unique`: the kernel and its modules have no other of its name."""

    place: int
    module: str
    name: str
    is_unique: bool


class TraceableFunctions:
    """The list; read at the first question. It is empty where the kernel has none or does not let it be read."""

    def __init__(self, tracefs: str) -> None:
        self.path = f"{tracefs}/{FILE}"
        self._text: str | None = None

    @property
    def readable(self) -> bool:
        return bool(self._read())

    def matching(self, module: str, function: str) -> Iterator[TraceableFunction]:
        """Those whose module and name match the patterns, in order; of equal names in a module the first."""
        name = plain(function)
        found = self._named(name) if name else self._all(function)
        in_module = matcher("vmlinux" if module == "kernel" else module)
        return (each for each in found if in_module(each.module))

    def at(self, place: int) -> TraceableFunction | None:
        lines = self._read().split("\n")
        if not 0 <= place < len(lines):
            return None
        name, _ = _parts(lines[place])
        return next((each for each in self._named(name) if each.place == place), None)

    def _named(self, name: str) -> Iterator[TraceableFunction]:
        """Found without taking the whole list apart."""
        text = self._read()
        if not _is_visible(name):
            return
        lines = list(re.finditer(rf"^{re.escape(name)}(?: \[.*\])?$", text, re.MULTILINE))
        seen: set[str] = set()
        for match in lines:
            _, module = _parts(match[0])
            if module not in seen:
                seen.add(module)
                yield TraceableFunction(text.count("\n", 0, match.start()), module, name, len(lines) == 1)

    def _all(self, function: str) -> Iterator[TraceableFunction]:
        lines = untrusted.lines(self._read())
        fits = matcher(function)
        names = [line.partition(" ")[0] for line in lines]
        several = {name for name, count in Counter(names).items() if count > 1}
        seen: set[str] = set()
        for place, name in enumerate(names):
            if not fits(name) or name.startswith(_INVISIBLE):
                continue
            line = lines[place]
            if name in several:
                if line in seen:
                    continue
                seen.add(line)
            module = VMLINUX if line == name else _parts(line)[1]
            yield TraceableFunction(place, module, name, name not in several)

    def _read(self) -> str:
        if self._text is None:
            try:
                self._text = untrusted.kernel_text(self.path, _LARGEST)
            except OSError:
                self._text = ""
        return self._text


def _parts(line: str) -> tuple[str, str]:
    """A line `name` or `name [module]`."""
    name, bracket, module = line.partition(" [")
    return name, module.rstrip("]") if bracket else VMLINUX


def _is_visible(name: str) -> bool:
    return bool(name) and not name.startswith(_INVISIBLE)
