"""The wire format of protocol buffers, as far as pprof's files need it: varints and pieces of a given length.

https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MASK = (1 << 64) - 1


class WireError(ValueError):
    """The bytes are no message."""


def varint(number: int) -> bytes:
    """Base 128, the low digit first; a negative number as the 64 bits of its complement."""
    number &= _MASK
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def integer(field: int, number: int) -> bytes:
    """A field of an integer type; nothing for 0, which is what a reader takes where there is none."""
    return varint(field << 3 | _VARINT) + varint(number) if number else b""


def piece(field: int, data: bytes) -> bytes:
    """A string, a message, or packed numbers."""
    return varint(field << 3 | _LENGTH) + varint(len(data)) + data


def packed(field: int, numbers: Iterable[int]) -> bytes:
    """A repeated field of an integer type."""
    return piece(field, b"".join(map(varint, numbers)))


_LEAST = 1 << 3
"""The key of a field with number 1."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in their order, integers as unsigned ones. Raises WireError."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        if key < _LEAST:
            raise WireError("a field without a number")
        kind = key & 7
        if kind == _VARINT:
            number, position = _varint(data, position)
            yield key >> 3, number
            continue
        if kind == _LENGTH:
            size, position = _varint(data, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise WireError(f"a field of the unknown kind {kind}")
        if position + size > len(data):
            raise WireError("a field ends behind the message")
        yield key >> 3, data[position : position + size]
        position += size


def numbers(value: int | bytes) -> Iterator[int]:
    """The numbers of a repeated field, which may be packed or not."""
    if isinstance(value, int):
        yield value
        return
    position = 0
    while position < len(value):
        number, position = _varint(value, position)
        yield number


def signed(number: int) -> int:
    """An unsigned number of 64 bits as int64."""
    return number - (1 << 64) if number >> 63 else number


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(data) and shift < 70:
        digit = data[position]
        number |= (digit & 0x7F) << shift
        position += 1
        if digit < 0x80:
            return number & _MASK, position
        shift += 7
    raise WireError("a number does not end")
