"""The maps that a compilation asks for, by name."""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.model.named_maps import COUNTERS
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words

ZEROS_SIZE = 4352
"""What strings and aggregation values of usual sizes need for their initial zeros."""

MOST_MAPS = 64
"""Maps that one BPF program may use (MAX_USED_MAPS, include/linux/bpf_verifier.h), without the elements of arrays of
maps."""

NULL_MARK = 0xFF00
"""The first two bytes of a NULL string, little-endian: no characters, and then not the zeros of an empty string."""


class MapPool:
    """Collects map specifications; asking again for the same name gives the same map."""

    def __init__(self) -> None:
        self.specs: dict[str, MapSpec] = {}

    def add(self, spec: MapSpec) -> str:
        self.specs.setdefault(spec.name, spec)
        return spec.name

    def state(self) -> str:
        return self.add(MapSpec("state", kinds.ARRAY, 4, 16, 1))

    def counters(self) -> str:
        return self.add(MapSpec("counters", kinds.PERCPU_ARRAY, 4, 8 * len(COUNTERS), 1))

    def zeros(self, size: int) -> str:
        """At least `size` zeros nobody writes to: initial values, and what an unset variable reads as."""
        name = self.add(MapSpec("zeros", kinds.ARRAY, 4, ZEROS_SIZE, 1, kinds.F_RDONLY_PROG))
        self.resize(name, max(self.specs[name].value_size, whole_words(size)))
        return name

    def null_string(self, size: int) -> str:
        """What a string variable that was never set reads as: NULL, as `codegen/expressions/strings.py` keeps it."""
        name = self.add(MapSpec("null", kinds.ARRAY, 4, size, 1, kinds.F_RDONLY_PROG))
        size = max(self.specs[name].value_size, whole_words(size))
        contents = ((bytes(4), NULL_MARK.to_bytes(2, "little").ljust(size, b"\0")),)
        self.specs[name] = self.specs[name]._replace(value_size=size, contents=contents)
        return name

    def table(self, name: str, content: bytes) -> str:
        """Constant data, one element."""
        size = whole_words(len(content))
        padded = content.ljust(size, b"\0")
        spec = MapSpec(name, kinds.ARRAY, 4, size, 1, kinds.F_RDONLY_PROG, contents=((bytes(4), padded),), frozen=True)
        return self.add(spec)

    def text(self, text: bytes) -> tuple[str, int]:
        """Where a constant text is, in the map that holds them all: padded with zeros to whole words, at least one."""
        old = self.specs["texts"].contents[0][1] if "texts" in self.specs else b""
        padded = text.ljust(whole_words(len(text) + 1), b"\0")
        offset = old.find(padded)
        if offset < 0:
            offset = len(old)
            self.specs.pop("texts", None)
            self.table("texts", old + padded)
        return "texts", offset

    def resize(self, name: str, value_size: int) -> None:
        """Settle the size of a map whose content was collected while code was generated."""
        self.specs[name] = self.specs[name]._replace(value_size=value_size)
