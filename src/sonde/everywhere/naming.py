"""Identifiers and names of probes that are found while a session lasts."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.engines.base import Tracing
from sonde.model.named_maps import NAMES_MAP, NAMES_ROOM
from sonde.model.probe import Probe, StaticProbe
from sonde.model.spec import TracingSpec

_NUMBER = struct.Struct("<I")

Learn = Callable[[Sequence[Probe]], None]
"""Tells whoever shows records of probes that were not known before."""


class Naming:
    """`names` are the strings by their numbers, which grow here, and in the program's own map if it has one."""

    def __init__(self, spec: TracingSpec, tracing: Tracing, names: list[bytes], learn: Learn) -> None:
        self._tracing = tracing
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}
        self._room = len(names) + NAMES_ROOM
        self._size = next((each.value_size for each in spec.maps if each.name == NAMES_MAP), 0)
        self._learn = learn
        self._probes: dict[tuple[str, str, str, str], Probe] = {}
        self._next = max(probe.id for probe in spec.probes) + 1
        self._new: list[Probe] = []

    def probe(self, provider: str, module: str, function: str, name: str) -> Probe:
        """The probe of these names: one, in whatever files its sites are."""
        names = provider, module, function, name
        if names not in self._probes:
            self._probes[names] = Probe(self._next, *names, StaticProbe(0, "", ()))
            self._next += 1
            self._new.append(self._probes[names])
        return self._probes[names]

    def number(self, name: str) -> int:
        """The number of a name, which is a string of the session from then on."""
        text = name.encode()
        if text not in self._numbers:
            number = self._numbers[text] = len(self._names)
            self._names.append(text)
            if self._size and number < self._room:
                padded = text[: self._size - 1].ljust(self._size, b"\0")
                self._tracing.write_map(NAMES_MAP, _NUMBER.pack(number), padded)
        return self._numbers[text]

    def tell(self) -> None:
        """Tell of the probes that are new since the last time, before any of them fires."""
        if self._new:
            self._learn(self._new)
            self._new = []
