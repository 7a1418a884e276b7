"""What memory of a process is read for each form, and the text of what was read (`model/readings.py`).

Who has made the values is not to be trusted: they may end anywhere, and say anything of themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from sonde.model.readings import (
    BUFFERS,
    ELEMENTS,
    HEAD,
    POINTER_COUNT,
    POINTERS,
    SLOT_HEAD,
    STRING,
    Reading,
)
from sonde.notation import sockets, structures
from sonde.notation.numbers import address
from sonde.notation.quoting import quoted
from sonde.typed import NamedTuple

_HEAD = struct.Struct("<Qqq")
_SLOT = struct.Struct("<Qqq")


class Form(NamedTuple):
    """`reading` is what is read where the program does not say how much. `show` makes text of one element's bytes.
    `is_listed`: there may be several, and the text has brackets."""

    reading: Reading
    show: Callable[[bytes], str] = bytes.hex
    is_listed: bool = True


FORMS: dict[str, Form] = {
    "path": Form(Reading(STRING, 1, 0)),
    "string": Form(Reading(STRING, 1, 32)),
    "data": Form(Reading(ELEMENTS, 1, 32)),
    "bytes": Form(Reading(ELEMENTS, 1, 32)),
    "cpu_set": Form(Reading(ELEMENTS, 1, 128)),
    "msg_control": Form(Reading(ELEMENTS, 1, 256)),
    "sockaddr": Form(Reading(ELEMENTS, 1, 128)),
    "argv": Form(Reading(POINTERS, 32, 32)),
    "envp": Form(Reading(POINTER_COUNT, 0, 0)),
    "iovec": Form(Reading(BUFFERS, 32, 16)),
    **{name: Form(Reading(ELEMENTS, size, most), show, is_listed)
       for name, (size, most, show, is_listed) in structures.STRUCTURES.items()},
}  # fmt: skip


def form_text(detail: str, value: bytes) -> bytes:
    """The text of a field's value; `detail` is the form, what is read of each element and the most of them."""
    name, _, numbers = detail.partition(" ")
    form = FORMS.get(name)
    try:
        size, most = map(int, numbers.split())
        where, count, limit = _HEAD.unpack_from(value)
    except (ValueError, struct.error):
        form = None
    if form is None or size < 0 or most < 0:
        return value.hex().encode()
    reading = form.reading._replace(size=size, most=most)
    if count < 0 or (reading.kind == POINTER_COUNT and not where):
        return address(where).encode()
    shown = MemoryValue(form, reading, where, count, limit, value[HEAD:])
    try:
        return _text(name, shown).encode()
    except (struct.error, IndexError):
        return b"..."


class MemoryValue(NamedTuple):
    """A value taken apart: what the three words say, and what is behind them."""

    form: Form
    reading: Reading
    where: int
    elements: int
    limit: int
    data: bytes


def _text(name: str, value: MemoryValue) -> str:
    most, data, count = value.reading.most, value.data, value.elements
    match value.reading.kind:
        case "string":
            text = data.partition(b"\0")[0]
            return quoted(text[:most], len(text) > most)
        case "pointers":
            return _strings(value)
        case "buffers":
            return _buffers(value)
        case "count":
            return f"{address(value.where)} /* {count} var{'' if count == 1 else 's'} */"
    if name == "data":
        return quoted(data[: min(count, most)], count > most)
    if name == "bytes":
        digits = "".join(f"\\x{byte:02x}" for byte in data[: min(count, most)])
        return f'"{digits}"' + ("..." if count > most else "")
    if name == "cpu_set":
        bits = int.from_bytes(data[:count], "little")
        return f"[{' '.join(str(bit) for bit in range(bits.bit_length()) if bits >> bit & 1)}]"
    if name == "sockaddr":
        return sockets.socket_address(data[:count])
    if name == "msg_control":
        return _listed(value, sockets.control_messages(data[: min(count, most)]))
    return _elements(value)


def _elements(value: MemoryValue) -> str:
    size = value.reading.size
    if not value.form.is_listed:
        return value.form.show(value.data[:size])
    shown = [value.form.show(value.data[at : at + size]) for at in range(0, _count(value) * size, size)]
    return _listed(value, [each for each in shown if each])


def _strings(value: MemoryValue) -> str:
    most = value.reading.size
    shown = []
    for pointer, _, got, content in _slots(value):
        text = content.partition(b"\0")[0]
        shown.append(quoted(text[:most], len(text) > most) if got >= 0 else address(pointer))
    return _listed(value, shown)


def _buffers(value: MemoryValue) -> str:
    """Each struct iovec; of all together as many bytes are shown as the limit allows, addresses where it is below 0."""
    shown = []
    left = value.limit
    for pointer, length, got, content in _slots(value):
        known = min(left, length)
        left -= known
        text = quoted(content[: min(known, value.reading.size)], known > value.reading.size)
        is_shown = got >= 0 and pointer and value.limit >= 0
        shown.append(f"{{iov_base={text if is_shown else address(pointer)}, iov_len={length}}}")
    return _listed(value, shown)


def _count(value: MemoryValue) -> int:
    return min(value.elements, value.reading.most)


def _listed(value: MemoryValue, shown: list[str]) -> str:
    more = ["..."] if value.elements > value.reading.most else []
    return f"[{', '.join(shown + more)}]"


def _slots(value: MemoryValue) -> Iterator[tuple[int, int, int, bytes]]:
    """The pointer, the length there, the bytes that were read, and the memory."""
    stride = SLOT_HEAD + value.reading.slot
    for at in range(0, _count(value) * stride, stride):
        yield *_SLOT.unpack_from(value.data, at), value.data[at + SLOT_HEAD : at + stride]
