"""BTF, written: the types and names that go with maps and programs (include/uapi/linux/btf.h).

Types are numbered from 1 in the order they are added; 0 is void. Sizes are in bytes unless a name says bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from sonde.typed import NamedTuple

KIND_INT, KIND_PTR, KIND_ARRAY, KIND_STRUCT, KIND_UNION, KIND_ENUM = 1, 2, 3, 4, 5, 6
KIND_TYPEDEF, KIND_CONST, KIND_FUNC, KIND_FUNC_PROTO = 8, 10, 12, 13

INT_SIGNED, INT_CHAR, INT_BOOL = 1, 2, 4
"""Encodings of an integer."""

FUNC_STATIC, FUNC_GLOBAL = 0, 1
"""Linkages of a function: the verifier checks a static one with its callers, a global one alone."""

FUNC_INFO_SIZE = 8
LINE_INFO_SIZE = 16

_HEADER = struct.Struct("<HBBIIIII")
_TYPE = struct.Struct("<III")
_MAGIC = 0xEB9F


class WrittenMember(NamedTuple):
    """A member of a struct or union: its name, type and place in bits."""

    name: str
    type: int
    bit_offset: int


class LineInfo(NamedTuple):
    """The source line an instruction (by index) comes from: strings by offset, see `BtfBuilder.string`."""

    instruction: int
    file: int
    text: int
    line: int
    column: int = 0


class BtfBuilder:
    """Collects types and strings, then builds the blob for BPF_BTF_LOAD."""

    def __init__(self) -> None:
        self._types: list[bytes] = []
        self._strings = bytearray(1)
        self._offsets = {"": 0}

    def string(self, text: str) -> int:
        """The offset of `text` in the string section, where it is put once; what is behind a NUL is lost."""
        offset = self._offsets.get(text)
        if offset is None:
            offset = self._offsets[text] = len(self._strings)
            self._strings += text.encode("utf-8", "surrogateescape").partition(b"\0")[0] + b"\0"
        return offset

    def add_int(self, name: str, size: int, encoding: int = 0) -> int:
        """An integer of `size` bytes."""
        return self._add(name, KIND_INT, 0, size, struct.pack("<I", encoding << 24 | size * 8))

    def add_pointer(self, type_id: int) -> int:
        return self._add("", KIND_PTR, 0, type_id)

    def add_array(self, element: int, index: int, count: int) -> int:
        """An array of `count` elements; `index` is the integer type that indexes it."""
        return self._add("", KIND_ARRAY, 0, 0, struct.pack("<III", element, index, count))

    def add_struct(self, name: str, size: int, members: Sequence[WrittenMember]) -> int:
        return self._add_members(name, KIND_STRUCT, size, members)

    def add_union(self, name: str, size: int, members: Sequence[WrittenMember]) -> int:
        return self._add_members(name, KIND_UNION, size, members)

    def add_enum(self, name: str, values: Sequence[tuple[str, int]]) -> int:
        """An enumeration of four bytes: (name, value) of each of its constants."""
        tail = b"".join([struct.pack("<Ii", self.string(each), value) for each, value in values])
        return self._add(name, KIND_ENUM, len(values), 4, tail)

    def add_typedef(self, name: str, type_id: int) -> int:
        return self._add(name, KIND_TYPEDEF, 0, type_id)

    def add_function_type(self, result: int, parameters: Sequence[tuple[str, int]]) -> int:
        """A prototype: the type of the result, and (name, type) of each parameter."""
        tail = b"".join([struct.pack("<II", self.string(name), type_id) for name, type_id in parameters])
        return self._add("", KIND_FUNC_PROTO, len(parameters), result, tail)

    def add_func(self, name: str, function_type: int, linkage: int = FUNC_STATIC) -> int:
        """A function; its name must be a C identifier."""
        return self._add(name, KIND_FUNC, linkage, function_type)

    def build(self) -> bytes:
        types, strings = b"".join(self._types), bytes(self._strings)
        header = _HEADER.pack(_MAGIC, 1, 0, _HEADER.size, 0, len(types), len(types), len(strings))
        return header + types + strings

    def _add_members(self, name: str, kind: int, size: int, members: Sequence[WrittenMember]) -> int:
        tail = b"".join([_TYPE.pack(self.string(member.name), member.type, member.bit_offset) for member in members])
        return self._add(name, kind, len(members), size, tail)

    def _add(self, name: str, kind: int, count: int, size_or_type: int, tail: bytes = b"") -> int:
        """struct btf_type: name, then kind and vlen in one word, then size or type; what its kind adds follows."""
        self._types.append(_TYPE.pack(self.string(name), kind << 24 | count, size_or_type) + tail)
        return len(self._types)


def pack_func_info(functions: Iterable[tuple[int, int]]) -> bytes:
    """struct bpf_func_info for each (index of its first instruction, id of its BTF FUNC), in order of the index."""
    return b"".join([struct.pack("<II", *function) for function in functions])


def pack_line_info(lines: Iterable[LineInfo]) -> bytes:
    """struct bpf_line_info for each line, in order of the instruction; each function's first one must have one.

    Lines and columns too large for their fields (22 and 10 bits) are cut to the largest.
    """
    return b"".join([
        struct.pack("<IIII", x.instruction, x.file, x.text, min(x.line, 0x3FFFFF) << 10 | min(x.column, 0x3FF))
        for x in lines
    ])  # fmt: skip
