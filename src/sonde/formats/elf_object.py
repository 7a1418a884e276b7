"""An object file for the linker with nothing but u16 counters: the semaphores of static probes (elf(5))."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_ET_REL = 1
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_WRITE_ALLOC = 3
_WEAK_OBJECT = 2 << 4 | 1
_HIDDEN = 2
_HEADER, _SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION_NAMES = b"\0.probes\0.symtab\0.strtab\0.note.GNU-stack\0"


def counters_object(names: Sequence[str], machine: int) -> bytes:
    """A relocatable file for a `machine` (e_machine) that defines a hidden weak counter of each name, 0, in section
    .probes."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    symbols = [bytes(_SYMBOL.size)]
    at = 1
    for number, name in enumerate(names):
        symbols.append(_SYMBOL.pack(at, _WEAK_OBJECT, _HIDDEN, 1, 2 * number, 2))
        at += len(name.encode()) + 1
    table = b"".join(symbols)
    counters = bytes(2 * len(names))
    start = _HEADER.size
    places = []
    body = b""
    for content in (counters, table, strings + _SECTION_NAMES):
        body += bytes(-len(body) % 8)
        places.append(start + len(body))
        body += content
    body += bytes(-len(body) % 8)
    of_names = len(strings)
    rows = [
        (0, 0, 0, 0, 0, 0, 0, 0),
        (of_names + 1, _PROGBITS, _WRITE_ALLOC, places[0], len(counters), 0, 0, 0),
        (of_names + 9, _SYMTAB, 0, places[1], len(table), 3, 1, _SYMBOL.size),
        (of_names + 17, _STRTAB, 0, places[2], of_names + len(_SECTION_NAMES), 0, 0, 0),
        (of_names + 25, _PROGBITS, 0, places[2], 0, 0, 0, 0),
    ]
    sections = b"".join(
        _SECTION.pack(name, kind, flags, 0, offset, size, link, info, 2 if number == 1 else 8, entry)
        for number, (name, kind, flags, offset, size, link, info, entry) in enumerate(rows)
    )
    identity = b"\x7fELF\2\1\1"
    header = _HEADER.pack(
        identity, _ET_REL, machine, 1, 0, 0, start + len(body), 0, _HEADER.size, 0, 0, _SECTION.size, len(rows), 3
    )
    return header + body + sections
