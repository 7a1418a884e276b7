"""Stores side by side, made one: a buffer filled with numbers, or copied from another one.

Compilers clear and copy memory word by word. As Python, one assignment of a slice does it; where that does not fit into
memory, the words are stored one after the other, so that as much is written as the program would have written.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.machine.frames import FRAME_SIZE
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, Buffer, MachineMemory
from sonde.runtime.machine.translation.unit import Unit
from sonde.runtime.machine.translation.values import M64, RangedExpression, text


class RunOfStores:
    """Stores of `size` bytes each, the last of which is the last of the block's lines."""

    def __init__(self, unit: Unit, line: int, target: RangedExpression, size: int, value: RangedExpression) -> None:
        self._unit = unit
        self._name = ""
        self._line = line
        self._target = target
        self._size = size
        self._source = value.source
        self._data = b"" if value.constant is None else value.constant.to_bytes(size, "little")
        self._length = size

    def goes_on(self, lines: list[str], target: RangedExpression, value: RangedExpression, size: int) -> bool:
        """Whether this store continues the run; if so, it is made part of it."""
        if size != self._size or self._line != len(lines) - 1 or not _follows(self._target, target, self._length):
            return False
        if target.frame and target.addend + size > 0:
            return False
        if self._source is None:
            if value.constant is None:
                return False
            self._data += value.constant.to_bytes(size, "little")
        elif (
            value.source is None or not _is_copy(value, size) or not _follows(self._source, value.source, self._length)
        ):
            return False
        self._length += size
        lines[-1] = self._text()
        return True

    def _text(self) -> str:
        if self._source is not None:
            return f"copy({text(self._target)}, {text(self._source)}, {self._length}, {self._size})"
        zeros = not any(self._data)
        data = f'b"\\0" * {self._length}' if zeros else self._named_data()
        if self._target.frame:
            begins = FRAME_SIZE + self._target.addend
            return f"stack[{begins}:{begins + self._length}] = {data}"
        return f"fill({text(self._target)}, {data}, {self._size})"

    def _named_data(self) -> str:
        """The name of the bytes, which have become more."""
        self._name = self._name or self._unit.constant()
        self._unit.names[self._name] = self._data
        return self._name


def begin(
    unit: Unit, lines: list[str], target: RangedExpression, value: RangedExpression, size: int
) -> RunOfStores | None:
    """The run that the store just emitted may be the first of."""
    if target.frame:
        if not 0 <= FRAME_SIZE + target.addend <= FRAME_SIZE - size:
            return None
    elif target.term and not target.term.isidentifier():
        return None
    if value.constant is None and not _is_copy(value, size):
        return None
    return RunOfStores(unit, len(lines) - 1, target, size, value)


def _is_copy(value: RangedExpression, size: int) -> bool:
    """Whether the value is `size` bytes of memory as they are."""
    source = value.source
    if source is None or value.addend or value.hi != (1 << 8 * size) - 1:
        return False
    return not source.term or source.term.isidentifier()


def _follows(first: RangedExpression, other: RangedExpression, length: int) -> bool:
    """Whether `other` is the address `length` bytes behind `first`."""
    return first.term == other.term and first.addend + length == other.addend


def _owner(buffer: Buffer) -> object:
    """Whose bytes they are: two views of the same may overlap."""
    return buffer.obj if isinstance(buffer, memoryview) else buffer


def _is_read_only(buffer: Buffer) -> bool:
    return isinstance(buffer, memoryview) and buffer.readonly


def filler(memory: MachineMemory) -> Callable[[int, bytes, int], None]:
    """(address, bytes, size): store the bytes in pieces of that size."""
    regions = memory.regions

    def fill(address: int, data: bytes, size: int) -> None:
        buffer, offset = regions.get(address >> OFFSET_BITS), address & OFFSET_MASK
        if buffer is not None and offset + len(data) <= len(buffer) and not _is_read_only(buffer):
            buffer[offset : offset + len(data)] = data
            return
        for piece in range(0, len(data), size):
            memory.write(address + piece & M64, data[piece : piece + size])

    return fill


def copier(memory: MachineMemory) -> Callable[[int, int, int, int], None]:
    """(address, address to copy from, length, size): load and store the bytes in pieces of that size."""
    regions = memory.regions

    def copy(target: int, source: int, length: int, size: int) -> None:
        to, there = regions.get(target >> OFFSET_BITS), target & OFFSET_MASK
        of, here = regions.get(source >> OFFSET_BITS), source & OFFSET_MASK
        if (
            to is not None and of is not None and _owner(to) is not _owner(of) and not _is_read_only(to)
            and there + length <= len(to) and here + length <= len(of)
        ):  # fmt: skip
            to[there : there + length] = of[here : here + length]
            return
        for piece in range(0, length, size):
            memory.write(target + piece & M64, memory.read(source + piece & M64, size))

    return copy
