"""A sample on its way into a ring: what is known of the moment, and the record made of it (kernel/events/core.c)."""

from __future__ import annotations

import struct

from sonde.arch import perf_registers
from sonde.formats import perf_events as perf
from sonde.runtime.perf.layout import SampleLayout
from sonde.runtime.perf.raw import SIZE_FIELD, Fragment, RawRecord, prepare
from sonde.runtime.perf.ring import RecordSlot

_ABI_NONE, _ABI_64 = 0, 2
_U32 = struct.Struct("=I")
_NO_RAW = struct.pack("=II", 4, 0)
"""The raw part of a sample that has none."""


class Sample:
    """The values of the fields by the names of perf_events.FIXED_FIELDS; absent ones are 0.

    `registers` is a struct pt_regs or empty, `callchain` the addresses, innermost first. `raw` is a record of
    fragments. `misc` tells kernel from user.
    """

    __slots__ = ("_size", "callchain", "misc", "raw", "registers", "values")

    def __init__(
        self, values: dict[str, int] | None = None, raw: RawRecord | None = None, misc: int = perf.MISC_KERNEL,
        registers: bytes = b"", callchain: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.values = values or {}
        self.raw = raw
        self.misc = misc
        self.registers = registers
        self.callchain = callchain
        self._size = 0

    def prepare(self, layout: SampleLayout) -> int:
        """The record's size: computed once, also where an overflow handler sees the sample before it is written."""
        if not self._size:
            if self.raw is not None:
                prepare(self.raw)
            self._size = self._measure(layout)
        return self._size

    def _measure(self, layout: SampleLayout) -> int:
        size = layout.sample.size
        if layout.has_callchain:
            size += 8 + 8 * len(self.callchain)
        if layout.has_raw:
            size += SIZE_FIELD + self.raw.size if self.raw else len(_NO_RAW)
        if layout.has_registers:
            size += 8 + (8 * layout.registers.bit_count() if self.registers else 0)
        return size

    def head(self, layout: SampleLayout) -> bytes:
        """What stands before the raw data. `prepare` has been called."""
        raw = self.raw
        head = layout.sample.pack(self.values, perf.RECORD_SAMPLE, self.misc, self._size)
        if layout.has_callchain:
            head += struct.pack(f"={1 + len(self.callchain)}Q", len(self.callchain), *self.callchain)
        if layout.has_raw:
            head += _NO_RAW if raw is None else _U32.pack(raw.size)
        return head

    def write(self, slot: RecordSlot, layout: SampleLayout, head: bytes) -> None:
        """Fill the slot of the size that `prepare` told."""
        slot.copy(head)
        if layout.has_raw and self.raw is not None:
            _write_raw(slot, self.raw.fragment)
        if layout.has_registers:
            slot.copy(self._user_registers(layout.registers))

    def _user_registers(self, mask: int) -> bytes:
        if not self.registers:
            return struct.pack("=Q", _ABI_NONE)
        return struct.pack("=Q", _ABI_64) + perf_registers.user_registers(self.registers, mask)


def _write_raw(slot: RecordSlot, fragment: Fragment) -> None:
    while True:
        if fragment.copy is not None:
            slot.custom(fragment.copy, fragment.size)
        elif fragment.data is not None:
            slot.copy(fragment.data)
        else:
            slot.skip(fragment.size)
        if not isinstance(fragment.next, Fragment):
            break
        fragment = fragment.next
    slot.skip(fragment.next)
