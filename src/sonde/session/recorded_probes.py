"""Probes of processes as a recording holds them, found by descriptions: by all names that they had where they were
recorded, whatever processes and files there are today."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from sonde.engines.fired import OtherNames, RecordedProbes
from sonde.model.probe import Probe, StaticProbe, Uprobe
from sonde.providers.pattern import Pattern, matcher, matches, plain
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
        for place, probe in self._all:
            rank = self._rank(pattern, place, probe)
            known = found.get(probe.firing)
            if rank >= 0 and (known is None or rank < known[0]):
                found[probe.firing] = rank, probe
        return [probe for _, probe in found.values()]

    def _rank(self, pattern: Pattern, place: int, probe: Probe) -> int:
        """How far the names that the pattern matches are from the probe's own; less than 0: it matches none."""
        names = self._names.get(place, _NO_NAMES)
        if not matches(pattern.provider, probe.provider) or not _is_named(pattern.name, probe):
            return -1
        if not _is_in(pattern.module, probe.module, names.modules):
            return -1
        if matches(pattern.function, probe.function):
            return 0
        functions = (probe.function, *names.functions)
        return 1 if _is_function(pattern.function, functions) else -1


def _is_in(pattern: str, module: str, others: Sequence[str]) -> bool:
    """A name that is given means whatever is called so, a pattern the file's own name."""
    if matches(pattern, module) or pattern in others:
        return True
    if not plain(pattern):
        # libc.so.6 is libc.so and libc as well.
        return any(matches(pattern, each) for each in others if module.startswith(f"{each}."))
    return "/" in pattern and os.path.realpath(pattern) in (module, *others)


def _is_function(pattern: str, names: Iterable[str]) -> bool:
    exact = plain(pattern)
    if SEPARATOR not in pattern and any(map(matcher(pattern), names)):
        return True
    from sonde.symbols.source_names import functions  # what replays of programs in C do without

    if exact:
        return any(True for _ in functions.named(functions.candidates(names, exact), exact))
    return SEPARATOR in pattern and any(
        True for _ in functions.matching(functions.candidates(names, pattern), matcher(pattern))
    )


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
