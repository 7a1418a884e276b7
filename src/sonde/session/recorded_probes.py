"""Probes of processes as a recording holds them, found by descriptions: by all names that they had where they were
recorded, whatever processes and files there are today."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sonde.engines.fired import OtherNames, RecordedProbes
from sonde.model.probe import Probe, StaticProbe, Uprobe
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.user_places import is_of_source, may_be_of_source
from sonde.symbols.source_names import functions as source_names_functions
from sonde.symbols.source_names.nested_names import SEPARATOR

_NO_NAMES = OtherNames(0, (), ())


class RecordedPlaces:
    """Those of one recording. A site of a static probe is none by itself."""

    def __init__(self, source: RecordedProbes) -> None:
        self._names = {each.place: each for each in source.names}
        self._all = [
            (place, each)
            for place, each in enumerate(source.probes)
            if isinstance(each.firing, StaticProbe)
            or (isinstance(each.firing, Uprobe) and each.firing.kind != "static")
        ]

    def by_id(self, identifier: int) -> Probe | None:
        return next((each for _, each in self._all if each.id == identifier), None)

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        """The probes that the pattern matches, each place once: of several probes that fire there, since it has several
        names, the one whose own name a description finds, as it does where processes run."""
        found: dict[object, tuple[int, Probe]] = {}
        known_functions = [each for place, probe in self._all for each in self._functions(place, probe)]
        functions = _functions_called(pattern.function, known_functions)
        for place, probe in self._all:
            rank = self._rank(pattern, place, probe, functions)
            known = found.get(probe.firing)
            if rank >= 0 and (known is None or rank < known[0]):
                found[probe.firing] = rank, probe
        return [probe for _, probe in found.values()]

    def _functions(self, place: int, probe: Probe) -> tuple[str, ...]:
        return probe.function, *self._names.get(place, _NO_NAMES).functions

    def _rank(self, pattern: Pattern, place: int, probe: Probe, functions: frozenset[str]) -> int:
        """How far the names that the pattern matches are from the probe's own; less than 0: it matches none.
        `functions` are those that it matches."""
        names = self._names.get(place, _NO_NAMES)
        if not matches(pattern.provider, probe.provider) or not _is_named(pattern.name, probe):
            return -1
        if not _is_in(pattern.module, probe.module, names.modules):
            return -1
        if matches(pattern.function, probe.function):
            return 0
        return 1 if not functions.isdisjoint(self._functions(place, probe)) else -1


def _is_in(pattern: str, module: str, others: Sequence[str]) -> bool:
    """A name that is given means whatever is called so, a pattern the file's own name."""
    if matches(pattern, module) or pattern in others:
        return True
    if not plain(pattern):
        # libc.so.6 is libc.so and libc as well.
        return any(matches(pattern, each) for each in others if module.startswith(f"{each}."))
    return "/" in pattern and os.path.realpath(pattern) in (module, *others)


def _functions_called(pattern: str, names: Sequence[str]) -> frozenset[str]:
    """Those of the names of functions that a pattern matches."""
    found = [] if is_of_source(pattern) else [*filter(matcher(pattern), names)]
    if found:
        return frozenset(found)

    if may_be_of_source(pattern) or "(" in pattern:
        return frozenset(source_names_functions.named(source_names_functions.candidates(names, pattern), pattern))
    if SEPARATOR not in pattern:
        return frozenset()
    test = matcher(pattern.removeprefix(SEPARATOR))
    return frozenset(source_names_functions.matching(source_names_functions.candidates(names, pattern), test))


def _is_named(pattern: str, probe: Probe) -> bool:
    test: Callable[[str], bool] = matcher(pattern)
    if test(probe.name):
        return True
    if isinstance(probe.firing, StaticProbe):
        # A dash stands for two underscores of the source.
        return test(probe.name.replace("-", "__"))
    return _is_offset(probe) and _number(plain(pattern) or "") == _number(probe.name)


def _is_offset(probe: Probe) -> bool:
    return isinstance(probe.firing, Uprobe) and probe.firing.kind == "offset" and _number(probe.name) is not None


def _number(text: str) -> int | None:
    """An offset in hexadecimal, however it is written; None if it is none."""
    try:
        return int(text, 16)
    except ValueError:
        return None
