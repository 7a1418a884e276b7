"""Records of objects that end in a packet: a structure of the program's own, then what it had appended by the flags of
bpf_perf_event_output.

The kernel pads a record, so that it does not tell where the packet ends. A member of the head whose name has `cap`,
`snap`, `len` or `size` in it does, if its value fits; without one up to 7 bytes of padding are taken for the packet's.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.records import TypeSpec
from sonde.typed import NamedTuple

_CAPTURED, _LENGTHS, _DEVICES = ("cap", "snap"), ("cap", "snap", "len", "size"), ("ifindex",)
_MOST_PADDING = 7


class HeadedPacket(NamedTuple):
    """The head's bytes; those of the packet; how many the packet had, as far as the head says it; the number of the
    device that the head names, 0 if it names none."""

    head: memoryview
    data: memoryview
    length: int
    device: int


class _Number(NamedTuple):
    """A member of the head that is an unsigned number, or one that is never negative."""

    name: str
    offset: int
    size: int

    def of(self, head: memoryview) -> int:
        return int.from_bytes(head[self.offset : self.offset + self.size], "little")


class HeadedPackets:
    """Takes the records of one array apart, whose head is the structure `kind` of the types."""

    def __init__(self, types: Sequence[TypeSpec], kind: int) -> None:
        spec = types[kind]
        self._size = spec.size
        numbers = [
            _Number(each.name.lower(), each.offset // 8, types[each.type].size)
            for each in spec.members
            if types[each.type].kind == "integer" and not each.bits and types[each.type].size <= 8
        ]
        lengths = _called(numbers, _LENGTHS)
        captured = _called(lengths, _CAPTURED)
        self._lengths = [*captured, *(each for each in lengths if each not in captured)]
        self._devices = _called(numbers, _DEVICES)

    def parted(self, record: bytes) -> HeadedPacket | None:
        """None where nothing is behind the head."""
        whole = memoryview(record)
        head, rest = whole[: self._size], whole[self._size :]
        if len(head) < self._size:
            return None
        values = [each.of(head) for each in self._lengths]
        room = len(rest)
        captured = next((each for each in values if room - _MOST_PADDING <= each <= room), room)
        if not captured or (captured == room <= _MOST_PADDING and room not in values):
            return None
        device = self._devices[0].of(head) if self._devices else 0
        return HeadedPacket(head, rest[:captured], max(captured, *values, 0) if values else captured, device)


def _called(numbers: Sequence[_Number], parts: Sequence[str]) -> list[_Number]:
    return [each for each in numbers if any(part in each.name for part in parts)]
