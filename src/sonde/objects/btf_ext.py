"""The section .BTF.ext: which BTF goes with which instruction (Documentation/bpf/btf.rst, include/uapi/linux/bpf.h).

A part is for each section with code the string of its name and records, which name instructions by offset in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from sonde.bpf.btf import Btf
from sonde.objects.errors import ObjectError
from sonde.typed import NamedTuple, TypeVar

_T = TypeVar("_T")

_MAGIC = 0xEB9F
_HEADER = struct.Struct("<HBBI")


class FunctionInfo(NamedTuple):
    """The function that begins at byte `offset` of its section: its FUNC."""

    offset: int
    type: int


class ObjectLine(NamedTuple):
    """A line of source: `file` and `text` are offsets of strings, `place` is line << 10 | column."""

    offset: int
    file: int
    text: int
    place: int


class CoreRelocation(NamedTuple):
    """struct bpf_core_relo: the instruction at `offset` depends on `type` of the object's BTF, in the way `kind` says.

    `access` tells which part of it: numbers with colons between them.
    """

    offset: int
    type: int
    access: str
    kind: int


class Extension(NamedTuple):
    """What .BTF.ext has of each section with code, by the section's name."""

    functions: dict[str, list[FunctionInfo]]
    lines: dict[str, list[ObjectLine]]
    relocations: dict[str, list[CoreRelocation]]


NOTHING = Extension({}, {}, {})


def read_extension(data: bytes, btf: Btf) -> Extension:
    """Raises ObjectError."""
    try:
        magic, version, _, header = _HEADER.unpack_from(data)
        if magic != _MAGIC or version != 1:
            raise ObjectError("its .BTF.ext is not of version 1")
        places = struct.unpack_from("<4I", data, 8)
        core = struct.unpack_from("<2I", data, 24) if header >= 32 else (0, 0)
        parts = [data[header + at : header + at + size] for at, size in (places[:2], places[2:], core)]
        return Extension(
            _sections(parts[0], btf, 8, lambda values: FunctionInfo(*values[:2])),
            _sections(parts[1], btf, 16, lambda values: ObjectLine(*values[:4])),
            _sections(parts[2], btf, 16, lambda v: CoreRelocation(v[0], v[1], btf.string(v[2]), v[3])),
        )
    except struct.error:
        raise ObjectError("its .BTF.ext is cut off") from None


def _sections(data: bytes, btf: Btf, least: int, make: Callable[[tuple[int, ...]], _T]) -> dict[str, list[_T]]:
    """A part: the size of its records, then for each section its name, how many records it has, and these."""
    found: dict[str, list[_T]] = {}
    if not data:
        return found
    (size,) = struct.unpack_from("<I", data)
    if size < least or size % 4:
        raise ObjectError(f"its .BTF.ext has records of {size} bytes")
    layout, at = struct.Struct(f"<{size // 4}I"), 4
    while at < len(data):
        name, count = struct.unpack_from("<II", data, at)
        if count * size > len(data) - at - 8:
            raise ObjectError("its .BTF.ext is cut off")
        records = data[at + 8 : at + 8 + count * size]
        found.setdefault(btf.string(name), []).extend(make(values) for values in layout.iter_unpack(records))
        at += 8 + count * size
    return found
