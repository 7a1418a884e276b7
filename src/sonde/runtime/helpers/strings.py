"""Strings and numbers (kernel/bpf/helpers.c, lib/kstrtox.c)."""

from __future__ import annotations

from collections.abc import Callable
from errno import EINVAL, ERANGE

from sonde.runtime.environment import Environment
from sonde.runtime.helpers import printing
from sonde.runtime.helpers.probe_read import make as make_reads
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, AccessError
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    pass

_SIZE = 0xFFFF_FFFF
_BASES = (0, 8, 10, 16)
_LONGEST = 63
"""How many characters behind the sign are looked at."""

_SPACE = b"\t\n\v\f\r \xa0"
"""isspace (lib/ctype.c)."""

_DIGITS = {digit: value % 16 if value < 16 else value - 6 for value, digit in enumerate(b"0123456789abcdefABCDEF")}


class _Number(NamedTuple):
    """What a text begins with, and how many of its bytes that is."""

    value: int
    is_negative: bool
    consumed: int


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    memory = environment.memory

    def strtol(text: int, size: int, flags: int, result: int) -> int:
        number = parse(memory.read(text, size & _SIZE), flags)
        return store(result, number, -(1 << 63), (1 << 63) - 1)

    def strtoul(text: int, size: int, flags: int, result: int) -> int:
        number = parse(memory.read(text, size & _SIZE), flags)
        if not isinstance(number, int) and number.is_negative:
            number = -EINVAL
        return store(result, number, 0, (1 << 64) - 1)

    def store(result: int, number: _Number | int, least: int, most: int) -> int:
        """Write the number, 0 where there is none; how much of the text it is, or -errno."""
        consumed, value = 0, 0
        if isinstance(number, int):
            consumed = number
        else:
            value = -number.value if number.is_negative else number.value
            consumed = number.consumed
            if not least <= value <= most:
                consumed, value = -ERANGE, 0
        memory.write(result, (value & (1 << 64) - 1).to_bytes(8, "little"))
        return consumed

    def strncmp(first: int, size: int, second: int) -> int:
        a, b = _text(environment, first, size & _SIZE), _text(environment, second, size & _SIZE)
        return (a > b) - (a < b)

    def snprintf(destination: int, size: int, template: int, data: int, data_size: int) -> int:
        size, data_size = size & _SIZE, data_size & _SIZE
        if data_size % 8 or data_size > 8 * printing.ARGUMENTS or (data_size and not data):
            return -EINVAL
        arguments = memoryview(memory.read(data, data_size) if data_size else b"").cast("Q").tolist()
        made = printing.formatted(_text(environment, template, 1 << 32), arguments, make_reader(environment))
        if isinstance(made, int):
            return made
        if size:
            memory.write(destination, made[: size - 1] + b"\0")
        return len(made) + 1

    return {"strtol": strtol, "strtoul": strtoul, "strncmp": strncmp, "snprintf": snprintf}


def make_reader(environment: Environment) -> printing.Reader:
    """What formats read with."""
    memory, reads = environment.memory, make_reads(environment)

    def read(name: str, address: int, size: int) -> bytes:
        place = memory.add(bytearray(size))
        try:
            length = reads[name](place, size, address)
            return memory.read(place, max(length - 1, 0))
        finally:
            memory.remove(place)

    def read_memory(address: int, size: int) -> bytes:
        place = memory.add(bytearray(size))
        try:
            reads["probe_read_kernel"](place, size, address)
            return memory.read(place, size)
        finally:
            memory.remove(place)

    return printing.Reader(read, read_memory)


def _text(environment: Environment, address: int, size: int) -> bytes:
    """The string at `address`, at most `size` bytes, without its NUL. Raises AccessError."""
    buffer = environment.memory.regions.get(address >> OFFSET_BITS)
    if buffer is None:
        raise AccessError(address, size)
    offset = address & OFFSET_MASK
    data = bytes(buffer[offset : offset + size])
    end = data.find(0)
    if end < 0 and len(data) < size:
        raise AccessError(address, size)
    return data if end < 0 else data[:end]


def parse(text: bytes, flags: int) -> _Number | int:
    """The number that the text begins with, in the base that the flags tell (0: as C does), or -errno."""
    base = flags
    if base not in _BASES or not text:
        return -EINVAL
    stripped = text.lstrip(_SPACE)
    is_negative = stripped.startswith(b"-")
    # Spaces at the end of the text are left to the number, which then has no digit.
    digits = stripped[is_negative:][:_LONGEST].partition(b"\0")[0]
    begin = len(text) - len(stripped) + is_negative
    if begin == len(text):
        return -EINVAL
    is_hex = digits[:2].lower() == b"0x"
    if base == 0:
        base = 10
        if digits.startswith(b"0"):
            base = 16 if is_hex and digits[2:3] and digits[2] in _DIGITS else 8
    prefix = 2 if base == 16 and is_hex else 0
    value, count = 0, 0
    for digit in digits[prefix:]:
        if (number := _DIGITS.get(digit, 16)) >= base:
            break
        value = value * base + number
        count += 1
    if value >> 64:
        return -ERANGE
    if not count:
        return -EINVAL
    return _Number(value, is_negative, begin + prefix + count)
