"""How an event's records begin: worked out from its attributes once, not for each record."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sonde.formats import perf_events as perf
from sonde.runtime.perf.attributes import Attributes


class Fields:
    """Those of a table of perf_events that a sample_type asks for, behind what `front` says (codes of `struct`)."""

    __slots__ = ("_names", "_pack", "size")

    def __init__(self, front: str, table: tuple[tuple[int, str, str], ...], wanted: int) -> None:
        chosen = [(names, codes) for bit, names, codes in table if wanted & bit]
        packer = struct.Struct("=" + front + "".join(codes for _, codes in chosen))
        self._names = [name for names, _ in chosen for name in names.split()]
        self._pack = packer.pack
        self.size = packer.size

    def pack(self, values: Mapping[str, int], *front: int | bytes) -> bytes:
        """`values` by name; what is not there is 0."""
        get = values.get
        return self._pack(*front, *[get(name, 0) for name in self._names])


class SampleLayout:
    """Of samples and of reports of loss, for these attributes."""

    __slots__ = ("has_callchain", "has_raw", "has_registers", "lost", "registers", "sample")

    def __init__(self, attributes: Attributes) -> None:
        wanted = attributes.sample_type
        self.sample = Fields("IHH", perf.FIXED_FIELDS, wanted)
        self.lost = Fields("IHHQQ", perf.TRAILER_FIELDS, wanted if attributes.sample_id_all else 0)
        self.has_callchain = bool(wanted & perf.SAMPLE_CALLCHAIN)
        self.has_raw = bool(wanted & perf.SAMPLE_RAW)
        self.has_registers = bool(wanted & perf.SAMPLE_REGS_USER)
        self.registers = attributes.sample_regs_user
