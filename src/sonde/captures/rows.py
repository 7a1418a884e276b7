"""Records that end with a packet as Enhanced Packet Blocks, one by one: packets and values of any length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from sonde.captures.interfaces import InterfacePlace
from sonde.captures.values import RECORD, options_of
from sonde.consume.decode import columns, compile_comprehension
from sonde.consume.generated import code, tuple_of
from sonde.formats import pcapng
from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.records import PROBE_AT, CaptureAction, Field
from sonde.typed import Any, NamedTuple

_MOST = 1 << 16
"""Different beginnings of options remembered before that starts again: bounds the memory."""

_SHORT = 512
"""Bytes of a record that is copied before it is taken apart."""

_LAST = 8
"""Bytes behind a block's last option: the end of options, and the length."""

_HEAD = pcapng.PACKET_HEAD.size
_pack = pcapng.PACKET_HEAD.pack


class _Rest(NamedTuple):
    """What blocks have that are alike in all but times, lengths and bytes: their length, the interface, what is between
    the packet and the record, and what is behind the record. All where there is no record is before it."""

    whole: int
    interface: int
    before: bytes
    behind: bytes


class _Rests(dict[tuple[int, int, int, "bytes | None"], _Rest]):
    """By probe, bytes of the packet, bytes of values (0 if there are none), and the text that shows them (or None)."""

    def __init__(self, places: Mapping[int, InterfacePlace]) -> None:
        super().__init__()
        self._places = places

    def __missing__(self, key: tuple[int, int, int, bytes | None]) -> _Rest:
        if len(self) >= _MOST:
            self.clear()
        probe, size, begin, text = key
        found = self[key] = _rest(self._places[probe], size, begin, text)
        return found


def _rest(place: InterfacePlace, size: int, begin: int, text: bytes | None) -> _Rest:
    record = None if text is None else memoryview(bytes(begin))
    options = pcapng.options(options_of(place, text or b"", record))
    block = pcapng.enhanced_packet(place.interface, 0, 0, bytes(size), options)
    if record is None:
        return _Rest(len(block), place.interface, block[_HEAD + size :], b"")
    at = len(block) - _LAST - (-(RECORD + begin) & 3) - begin
    return _Rest(len(block), place.interface, block[_HEAD + size : at], block[at + begin :])


class BlockMaker:
    """Makes the blocks of records of one layout that are `stride` bytes apart."""

    def __init__(self, capture: CaptureAction, stride: int, places: Mapping[int, InterfacePlace]) -> None:
        data = capture.data
        fields = (capture.time, capture.length, Field(data.offset, 4, "int"), Field(data.offset + 4, 4, "int"))
        layout = columns(fields, (), RING_HEADER, stride, ((RING_HEADER + PROBE_AT, code("probe")),))
        result = tuple_of((code("probe"), *(layout.expressions[field] for field in fields)))
        self._read: Callable[[memoryview], list[Any]] = compile_comprehension(result, layout, stride, {})
        self._stride = stride
        self._rests = _Rests(places)

    def blocks(self, data: memoryview, texts: Sequence[bytes] | None) -> bytes:
        """The blocks of all records; `texts` are the packets' comments, None if they have no values."""
        # Slices of bytes are made faster, those of memory are not copied.
        records = data.tobytes() if self._stride <= _SHORT else data
        rests = self._rests
        starts = range(RING_HEADER, len(data), self._stride)
        rows = zip(starts, self._read(data), strict=True)
        if texts is None:
            found = [
                (
                    _pack(pcapng.ENHANCED_PACKET, whole, interface, time >> 32, time & 0xFFFFFFFF, size, length),
                    records[start + begin : start + begin + size],
                    before,
                )
                for start, (probe, time, length, begin, size) in rows
                for whole, interface, before, _ in (rests[probe, size, 0, None],)
            ]
            return b"".join(chain.from_iterable(found))
        return b"".join(
            chain.from_iterable(
                [
                    (
                        _pack(pcapng.ENHANCED_PACKET, whole, interface, time >> 32, time & 0xFFFFFFFF, size, length),
                        records[start + begin : start + begin + size],
                        before,
                        records[start : start + begin],
                        behind,
                    )
                    for text, (start, (probe, time, length, begin, size)) in zip(texts, rows, strict=True)
                    for whole, interface, before, behind in (rests[probe, size, begin, text],)
                ]
            )
        )
