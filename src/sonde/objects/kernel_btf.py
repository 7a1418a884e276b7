"""BTF of an object as the kernel takes it with its programs.

Compilers describe more than the kernel wants to know, and some of it in ways that it refuses: sections whose sizes the
linker would fill in, functions that are only declared or have no names (gcc 12). These descriptions are put out of the
way, in their places, so that all others keep their numbers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection

from sonde.bpf import btf
from sonde.bpf.btf import Btf
from sonde.objects.reading import BpfObject

_HEADER = struct.Struct("<HBBIIIII")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOTHING = struct.pack("<III", 0, btf.CONST << 24, 0)
"""`const void`, without a name."""

_EXTRA = {btf.INT: 4, btf.ARRAY: 12, btf.VAR: 4, btf.DECL_TAG: 4}
_EACH = {
    btf.STRUCT: 12, btf.UNION: 12, btf.ENUM: 8, btf.FUNC_PROTO: 8, btf.DATASEC: 12, btf.ENUM64: 12,
}  # fmt: skip


def for_kernel(data: bytes, types: Btf, static: Collection[int] = (), wrappers: Collection[str] = ()) -> bytes:
    """The BTF without what the kernel would refuse; `static` are FUNCs that become static, whose callers the verifier
    checks them with; for each of `wrappers` a static function `int NAME(void *)` is put behind the rest."""
    _, _, _, header, start, length, string_start, string_length = _HEADER.unpack_from(data)
    raw, strings = data[header + start : header + start + length], data[header + string_start :][:string_length]
    out, at, gone = bytearray(), 0, set()
    for identifier in range(1, types.end_id):
        info, size_or_type = struct.unpack_from("<II", raw, at + 4)
        kind, count = info >> 24 & 31, info & 0xFFFF
        end = at + 12 + _EXTRA.get(kind, 0) + _EACH.get(kind, 0) * count
        piece = raw[at:end]
        if _is_refused(types, identifier) or (kind == btf.DECL_TAG and size_or_type in gone):
            gone.add(identifier)
            piece = _NOTHING
        elif identifier in static:
            piece = struct.pack("<III", struct.unpack_from("<I", piece)[0], btf.FUNC << 24, size_or_type)
        out += piece
        at = end
    out_strings = bytearray(strings)
    for name in wrappers:
        out += _wrapper(name, out_strings, types.end_id + _PER_WRAPPER * list(wrappers).index(name))
    result = _HEADER.pack(0xEB9F, 1, 0, _HEADER.size, 0, len(out), len(out), len(out_strings))
    return result + bytes(out) + bytes(out_strings)


def hidden_types(object_: BpfObject) -> list[int]:
    """The FUNCs of functions that are hidden: libbpf has the verifier check them with their callers, as static ones
    (`__hidden` of bpf_helpers.h; bpf_object__sanitize_btf of libbpf.c), though the compiler's BTF calls them global."""
    hidden = {(each.section, each.start) for each in object_.functions.hidden()}
    return [
        each.type
        for number, section in enumerate(object_.file.sections)
        for each in object_.extension.functions.get(section.name, ())
        if (number, each.offset) in hidden
    ]


_PER_WRAPPER = 4


def wrapper_id(types: Btf, number: int) -> int:
    """The FUNC of the wrapper with that number."""
    return types.end_id + _PER_WRAPPER * number + _PER_WRAPPER - 1


def _wrapper(name: str, strings: bytearray, first: int) -> bytes:
    """int, void *, int (void *), and the function itself."""
    texts = []
    for text in ("int", "ctx", name):
        texts.append(len(strings))
        strings += text.encode() + b"\0"
    number, parameter, function = texts
    pack = struct.pack
    return (
        pack("<IIII", number, btf.INT << 24, 4, btf.INT_SIGNED << 24 | 32)
        + pack("<III", 0, btf.PTR << 24, 0)
        + pack("<IIIII", 0, btf.FUNC_PROTO << 24 | 1, first, parameter, first + 1)
        + pack("<III", function, btf.FUNC << 24, first + 2)
    )


def _is_refused(types: Btf, identifier: int) -> bool:
    found = types.type(identifier)
    if found.kind == btf.DATASEC or found.kind == btf.VAR:
        return True
    return found.kind == btf.FUNC and (found.linkage > 1 or not _NAME.fullmatch(found.name))
