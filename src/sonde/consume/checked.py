"""What programs of a file have recorded, checked against the file's own description: sizes, numbers and references.

Whoever wrote the file wrote both, and a program of a spec file is proved harmless, not to record what the file says.
Behind these checks the consumer and all sinks are given what programs of sonde's own compiler could have recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.engines.base import DataSource, Ring
from sonde.formats.bpf_ring import RING_HEADER
from sonde.formats.damage import DamagedError
from sonde.model.aggregating import element_size
from sonde.model.named_maps import COUNTERS, SPECULATION_COUNTS, SPECULATIONS
from sonde.model.probe import Probe
from sonde.model.records import FAULT_CLAUSE, HEADER_SIZE, PROBE_AT, Field, RecordLayout
from sonde.model.spec import TracingSpec

FAULT_SIZE = HEADER_SIZE + 32
"""Bytes of the record of a fault."""

_FAULT_PROBE_AT = HEADER_SIZE + 4
_WORD = 8
_MOST_CPUS = 8192
"""That a kernel is made for (NR_CPUS)."""


class RecordChecks:
    """Checks records. `probes` may grow while something is traced, as may the spec's strings."""

    def __init__(self, spec: TracingSpec, probes: Mapping[int, Probe]) -> None:
        self._layouts = {layout.number: layout for layout in spec.records}
        self._strings = spec.strings
        self._probes = probes
        self._interned = {layout.number: _interned(layout) for layout in spec.records}

    def run(self, number: int, data: memoryview, stride: int) -> None:
        """Records of a clause, `stride` bytes from one to the next. Raises DamagedError."""
        layout = self._layouts.get(number)
        size = FAULT_SIZE if number == FAULT_CLAUSE else layout.size if layout is not None else 0
        if not size:
            raise DamagedError(f"it is damaged: a record of clause {number}, which is not described")
        if stride < RING_HEADER + size:
            raise DamagedError(f"it is damaged: a record of clause {number} is shorter than described")
        words, step = data.cast("I"), stride // 4
        place = _FAULT_PROBE_AT if number == FAULT_CLAUSE else PROBE_AT
        if not self._probes.keys() >= set(words[(RING_HEADER + place) // 4 :: step].tolist()):
            raise DamagedError("it is damaged: a record of a probe that is not described")
        for field in self._interned.get(number, ()):
            self._require_strings(field, data, stride)

    def _require_strings(self, field: Field, data: memoryview, stride: int) -> None:
        known = len(self._strings)
        for at in range(RING_HEADER + field.offset, len(data), stride):
            if int.from_bytes(data[at : at + field.size], "little") >= known:
                raise DamagedError("it is damaged: a record names a string that is not there")


def _interned(layout: RecordLayout) -> tuple[Field, ...]:
    """The fields that are indexes of strings."""
    values = [value for action in layout.actions for value in action]
    found = [part for value in values for part in _fields(value) if part.kind == "interned"]
    return tuple(dict.fromkeys(found))


def _fields(value: object) -> tuple[Field, ...]:
    if isinstance(value, Field):
        return (value,)
    return tuple(each for each in value if isinstance(each, Field)) if type(value) is tuple else ()


class CheckedSource:
    """A `DataSource` whose maps are as the spec describes them. Raises DamagedError where they are not."""

    def __init__(self, spec: TracingSpec, source: DataSource) -> None:
        self._source = source
        self._strings = spec.strings
        self._aggregations = {each.map: each for each in spec.aggregations}
        self._arrays = {each.map: each for each in spec.arrays}
        self._cpus = 0
        self.write_map = source.write_map
        self.remove_from_map = source.remove_from_map

    @property
    def rings(self) -> Sequence[Ring]:
        return self._source.rings

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return self._checked(name, self._source.read_map(name))

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        return self._checked(name, self._source.replace_map(name))

    def _checked(self, name: str, contents: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        if name in self._aggregations:
            spec = self._aggregations[name]
            width = _WORD * element_size(spec.function, spec.parameters, len(spec.keys), spec.has_extent)
            self._keys(name, contents, spec.key_size, spec.keys)
            sizes = {len(value) for _, value in contents}
            if len(sizes) > 1 or any(size % width or not size or size // width > _MOST_CPUS for size in sizes):
                raise _wrong(name)
        elif name in self._arrays:
            array = self._arrays[name]
            self._keys(name, contents, array.key_size, array.keys)
            if any(len(value) < array.value.size for _, value in contents):
                raise _wrong(name)
        elif name == "counters":
            self._counters(contents)
        elif name in (SPECULATIONS, SPECULATION_COUNTS):
            least = _WORD * (2 if name == SPECULATION_COUNTS else 1)
            if any(len(key) != 4 or len(value) < least for key, value in contents):
                raise _wrong(name)
        return contents

    def _keys(self, name: str, contents: list[tuple[bytes, bytes]], size: int, fields: Sequence[Field]) -> None:
        if not fields:
            if len(contents) > 1:
                raise _wrong(name)
            return
        if any(len(key) != size for key, _ in contents):
            raise _wrong(name)
        for field in (each for each in fields if each.kind == "interned"):
            begin, end = field.offset, field.offset + field.size
            if any(int.from_bytes(key[begin:end], "little") >= len(self._strings) for key, _ in contents):
                raise _wrong(name)

    def _counters(self, contents: list[tuple[bytes, bytes]]) -> None:
        """A row of each CPU, the same number of them each time."""
        if not contents:
            return
        cpus, rest = divmod(len(contents[0][1]), _WORD * len(COUNTERS))
        if len(contents) > 1 or rest or not cpus or cpus != (self._cpus or cpus):
            raise _wrong("counters")
        self._cpus = cpus


def _wrong(name: str) -> DamagedError:
    return DamagedError(f"it is damaged: map {name[:40]} is not as it is described")
