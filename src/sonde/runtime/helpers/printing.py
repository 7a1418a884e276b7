"""Formats of bpf_snprintf: what they allow (bpf_bprintf_prepare in kernel/bpf/helpers.c) and print (lib/vsprintf.c).

Addresses are printed as they are: the engine's are no secret, and stand for no symbol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from errno import EINVAL, ENOSPC

from sonde.typed import NamedTuple

ARGUMENTS = 12
"""MAX_BPRINTF_VARARGS."""

_ROOM = 512
"""MAX_BPRINTF_BIN_ARGS: bytes for all arguments, strings included."""

_CONVERSION = re.compile(
    rb"%(?P<flags>[0+\- ]*)(?P<width>[1-9][0-9]*)?"
    rb"(?:(?P<string>s|p[ku]s)|(?P<character>c)|(?:(?P<address>p[iI][46])|(?P<pointer>p[KxsSB]))[0-9A-Za-z]*"
    rb"|(?P<plain>p)(?![0-9A-Za-z])|(?P<length>l{0,2})(?P<integer>[iduxX]))"
)
_PRINTABLE = frozenset(range(0x20, 0x7F)) | frozenset(b"\t\n\v\f\r")
_READS = {b"s": "probe_read_str", b"pks": "probe_read_kernel_str", b"pus": "probe_read_user_str"}


class _Layout(NamedTuple):
    """Flags and width of a conversion."""

    flags: bytes
    width: int

    def put(self, text: bytes) -> bytes:
        return text.ljust(self.width) if b"-" in self.flags else text.rjust(self.width)

    def put_number(self, sign: bytes, digits: bytes) -> bytes:
        if b"0" in self.flags and b"-" not in self.flags:
            digits = digits.rjust(self.width - len(sign), b"0")
        return self.put(sign + digits)


class Reader(NamedTuple):
    """How the things that arguments point to are read: `string` by the name of the helper that would, at an address,
    so many bytes with the NUL, empty if it cannot be; `memory` at an address in Memory, zeros if it is not there."""

    string: Callable[[str, int, int], bytes]
    memory: Callable[[int, int], bytes]


def formatted(template: bytes, arguments: Sequence[int], read: Reader) -> bytes | int:
    """The text, or -errno."""
    if not _PRINTABLE.issuperset(template):
        return -EINVAL
    printed, at, used, taken = [], 0, 0, 0
    while (begin := template.find(b"%", at)) >= 0:
        printed.append(template[at:begin])
        at = begin + 2
        if template[begin:at] == b"%%":
            printed.append(b"%")
            continue
        found = _CONVERSION.match(template, begin)
        if found is None or used >= len(arguments) or not _ends_well(found, template):
            return -EINVAL
        text, taken = _convert(found, arguments[used], read, taken)
        if taken > _ROOM:
            return -ENOSPC
        printed.append(text)
        used += 1
        at = found.end()
    return b"".join((*printed, template[at:]))


def _ends_well(found: re.Match[bytes], template: bytes) -> bool:
    """Whether what follows a string cannot be taken for a part of the conversion."""
    return not (found["string"] and template[found.end() : found.end() + 1].isalnum())


def _convert(found: re.Match[bytes], argument: int, read: Reader, taken: int) -> tuple[bytes, int]:
    """The text of one conversion, and how many bytes arguments take with it, more than _ROOM if there are too few.

    What the kernel looks up before it prints (bstr_printf's pointers) is printed without regard to its width.
    """
    layout = _Layout(found["flags"], int(found["width"] or 0))
    if name := found["string"]:
        if taken >= _ROOM:
            return b"", _ROOM + 1
        text = read.string(_READS[name], argument, _ROOM - taken)
        return layout.put(text) if name == b"s" else text, taken + len(text) + 1
    if found["character"]:
        return layout.put(bytes([argument & 0xFF])), taken + 1
    if kind := found["address"]:
        text = _network_address(kind, read.memory(argument, 4 if kind.endswith(b"4") else 16))
        return text, taken + len(text) + 1
    if found["pointer"] == b"pB":
        text = f"{argument:#x}".encode()
        return text, taken + len(text) + 1
    kind = found["pointer"] or found["plain"]
    is_long = bool(found["length"] or kind)
    taken = (taken + 3 & ~3) + (8 if is_long else 4)
    if kind:
        # Without a symbol the address itself.
        text = f"{argument:#x}".encode() if kind in (b"ps", b"pS") else f"{argument:016x}".encode()
        return layout.put(text), taken
    return _integer(found["integer"], argument, 64 if is_long else 32, layout), taken


def _integer(kind: bytes, argument: int, bits: int, layout: _Layout) -> bytes:
    number = argument & (1 << bits) - 1
    if kind in b"xX":
        return layout.put_number(b"", f"{number:{kind.decode()}}".encode())
    sign = b""
    if kind in b"id":
        if number >> bits - 1:
            number, sign = (1 << bits) - number, b"-"
        elif b"+" in layout.flags:
            sign = b"+"
        elif b" " in layout.flags:
            sign = b" "
    return layout.put_number(sign, str(number).encode())


def _network_address(kind: bytes, data: bytes) -> bytes:
    match kind:
        case b"pI4":
            text = ".".join(map(str, data))
        case b"pi4":
            text = ".".join(f"{each:03}" for each in data)
        case b"pI6":
            text = data.hex(":", 2)
        case _:
            text = data.hex()
    return text.encode()
