"""Reading BTF, the kernel's description of its own types (Documentation/bpf/btf.rst, include/uapi/linux/btf.h).

A kernel has some 130,000 types. Nothing is decoded before it is asked for: a name is found by searching the bytes of
the string section, and an index from type ids to offsets is built only as far as questions need it.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress

from sonde.typed import NamedTuple
from sonde.untrusted import open_file, read_regular

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST = range(1, 11)
RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(11, 20)
"""Kinds: BTF_KIND_*."""

INT_SIGNED, INT_CHAR, INT_BOOL = 1, 2, 4
"""Bits of `BtfType.encoding`."""

_MAGIC = 0xEB9F
_HEADER = struct.Struct("<HBBIIIII")

# Bytes behind the three common words: once, and for each of the vlen elements.
_EXTRA = {INT: 4, ARRAY: 12, VAR: 4, DECL_TAG: 4}
_EACH = {STRUCT: 12, UNION: 12, ENUM: 8, FUNC_PROTO: 8, DATASEC: 12, ENUM64: 12}


class BtfError(Exception):
    """The data is not BTF of a version known here, or it is damaged."""


class BtfMember(NamedTuple):
    """A member of a structure, `offset` in bits; `bits` is 0 unless it is a bit-field of that width."""

    name: str
    type: int
    offset: int
    bits: int


class BtfParameter(NamedTuple):
    """A parameter; the last of a variadic function has neither name nor type."""

    name: str
    type: int


class BtfValue(NamedTuple):
    name: str
    value: int


class BtfVariable(NamedTuple):
    """A variable in a DATASEC: the id of its VAR, its offset in the section and its size in bytes."""

    type: int
    offset: int
    size: int


class BtfType(NamedTuple):
    """One type.

    `size` is in bytes (INT, STRUCT, UNION, ENUM, ENUM64, DATASEC, FLOAT); `type` is the id of what the type refers to
    (element, target, return value; 0 is void). `flag` is the kind's flag: bit-fields in a structure, signed values in
    an enumeration, a union in a FWD, an attribute in a tag. `encoding` and `bits` are of an INT, `length` of an ARRAY,
    `linkage` of a FUNC or VAR.
    """

    id: int
    kind: int
    name: str
    size: int = 0
    type: int = 0
    flag: bool = False
    members: tuple[BtfMember, ...] = ()
    parameters: tuple[BtfParameter, ...] = ()
    values: tuple[BtfValue, ...] = ()
    variables: tuple[BtfVariable, ...] = ()
    encoding: int = 0
    bits: int = 0
    length: int = 0
    linkage: int = 0


_CHUNK = 1 << 14
"""Words to index at a time on the way to an id."""

_VOID = BtfType(0, 0, "void")
_SIZED = frozenset((INT, STRUCT, UNION, ENUM, ENUM64, DATASEC, FLOAT))


class _Steps(dict[int, int]):
    """The words a type takes, by its info word; few different ones occur, so nearly all are one look-up."""

    def __missing__(self, info: int) -> int:
        kind = info >> 24 & 31
        if not 0 < kind <= ENUM64:
            raise BtfError(f"unknown BTF kind {kind}")
        step = 3 + (_EXTRA.get(kind, 0) + _EACH.get(kind, 0) * (info & 0xFFFF)) // 4
        self[info] = step
        return step


_KERNELS_OWN = "/sys/"
"""Only the kernel's own BTF is mapped: whoever may write to a mapped file could end sonde by making it shorter."""

_MANY = 64
"""Names that are looked for one by one, which takes some ms each."""

_LARGEST = 64 << 20
"""Bytes of BTF that are read: kernels have 4 to 10 MiB."""


class Btf:
    """The types of the kernel (`base` None), or of a module, whose ids and strings go on after the kernel's."""

    def __init__(self, data: bytes | mmap.mmap, base: Btf | None = None, repeats: bool = False) -> None:
        """`data` is a whole BTF blob. Raises BtfError if it is not little-endian BTF of version 1.

        `repeats`: a string may be there several times, as gcc writes them; the kernel's are all different.
        """
        if len(data) < _HEADER.size:
            raise BtfError("BTF data is too short")
        magic, version, _, header, types, type_length, strings, string_length = _HEADER.unpack(data[: _HEADER.size])
        if (
            magic != _MAGIC
            or version != 1
            or type_length % 4
            or header + max(types + type_length, strings + string_length) > len(data)
        ):
            raise BtfError("not BTF of version 1")
        self.base = base
        self._repeats = repeats
        self._types = data[header + types : header + types + type_length]
        self._strings = data[header + strings : header + strings + string_length]
        self._string_base = 0
        if base:
            # A split string section does not begin with the empty string, which the searches rely on.
            self._strings = b"\0" + self._strings
            self._string_base = base.string_end - 1
        self._words: array[int] = array("I")
        self._index: array[int] = array("I")
        self._indexed = 0
        self._names: dict[str, int | None] = {}
        self._searches = 0
        self._by_name: dict[int, list[int]] = {}
        """The types that have each string as their name, once many have been looked for."""
        self._steps = _Steps()

    @classmethod
    def open(cls, path: str, base: Btf | None = None) -> Btf:
        """The BTF in a file, /sys/kernel/btf/vmlinux or one beside it. Raises OSError or BtfError."""
        if path.startswith(_KERNELS_OWN):
            with open_file(path, _LARGEST, pseudo=True) as file:
                try:
                    # Only private read-only mappings are allowed, and only since 6.16 (kernel/bpf/sysfs_btf.c).
                    return cls(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ), base)
                except (OSError, ValueError):
                    pass
        return cls(read_regular(path, _LARGEST, pseudo=True), base)

    def digest(self) -> str:
        """A short hash of all types and names."""
        import hashlib  # an import that most runs do without

        return hashlib.sha256(bytes(self._types) + bytes(self._strings)).hexdigest()[:16]

    @property
    def string_end(self) -> int:
        """The first string offset of a blob that is split off this one."""
        return self._string_base + len(self._strings)

    @property
    def first_id(self) -> int:
        return self.base.end_id if self.base else 1

    @property
    def end_id(self) -> int:
        """One more than the last id."""
        return self.first_id + len(self._offsets())

    def find(self, name: str, *kinds: int) -> int | None:
        """The id of the first type of that name and one of these kinds, without those of the base."""
        return next(self.find_all(name, *kinds), None)

    def find_all(self, name: str, *kinds: int) -> Iterator[int]:
        """The ids of the types of that name and one of these kinds, in ascending order, without those of the base."""
        if self._repeats:
            yield from sorted(each for offset in self._string_offsets(name) for each in self._named(offset, kinds))
            return
        self._searches += 1
        if self._searches == _MANY:
            self._index_names()
        offset = self._string_offset(name)
        if offset is not None:
            yield from self._named(offset, kinds)

    def _index_names(self) -> None:
        """Note the offsets of all strings, and the types that have each: a pass in the place of one for each name."""
        at = self._string_base
        for each in bytes(self._strings).split(b"\0"):
            self._names.setdefault(each.decode(errors="replace"), at)
            at += len(each) + 1
        with suppress(BtfError):
            # Where a type is of a newer kind, those before it are still found one by one.
            words, offsets = self._type_words(), self._offsets()
            for identifier, first in enumerate(offsets, self.first_id):
                self._by_name.setdefault(words[first], []).append(identifier)

    def _named(self, offset: int, kinds: tuple[int, ...]) -> Iterator[int]:
        """The ids of the types of these kinds whose name is the string at an offset."""
        words = self._type_words()
        if self._by_name:
            for each in self._by_name.get(offset, ()):
                if words[self._offset_of(each) + 1] >> 24 & 31 in kinds:
                    yield each
            return
        for word in self._occurrences(offset):
            offsets = self._offsets(word)
            at = bisect_right(offsets, word) - 1
            if offsets[at] == word and words[word + 1] >> 24 & 31 in kinds:
                yield at + self.first_id

    def find_enumerator(self, name: str) -> tuple[int, int] | None:
        """The id of the enumeration that has this enumerator, and its value; the base is not searched."""
        offset = self._string_offset(name)
        if offset is None:
            return None
        words = self._type_words()
        for word in self._occurrences(offset):
            offsets = self._offsets(word)
            at = bisect_right(offsets, word) - 1
            if words[offsets[at] + 1] >> 24 & 31 in (ENUM, ENUM64) and offsets[at] != word:
                for value in self.type(at + self.first_id).values:
                    if value.name == name:
                        return at + self.first_id, value.value
        return None

    def find_prefix(self, prefix: str, kind: int) -> dict[str, int]:
        """The ids of all types of one kind whose names begin with `prefix`, by name, without those of the base."""
        wanted = dict(self._strings_with(prefix))
        words = self._type_words()
        first = self.first_id
        return {
            wanted[words[at]]: identifier
            for identifier, at in enumerate(self._offsets(), first)
            if words[at] in wanted and words[at + 1] >> 24 & 31 == kind
        }

    def names(self, prefix: str) -> list[str]:
        """All strings that begin with `prefix`, in the order of the section and without those of the base.

        Whether a string names a type, and of which kind, is not looked at.
        """
        return [name for _, name in self._strings_with(prefix)]

    def type(self, identifier: int) -> BtfType:
        """The type with this id; id 0 is void. Raises BtfError beyond the last, and where it is cut off."""
        if not identifier:
            return _VOID
        if self.base and identifier < self.first_id:
            return self.base.type(identifier)
        return self._decode(identifier, self._offset_of(identifier))

    def string(self, offset: int) -> str:
        """The string at an offset of the (joined) string section."""
        if self.base and offset < self._string_base:
            return self.base.string(offset)
        start = offset - self._string_base
        return self._strings[start : self._strings.find(b"\0", start)].decode(errors="replace")

    def _strings_with(self, prefix: str) -> Iterator[tuple[int, str]]:
        """The offset and text of each string of this blob that begins with `prefix`."""
        strings, start = self._strings, b"\0" + prefix.encode()
        at = strings.find(start)
        while at >= 0:
            end = strings.find(b"\0", at + 1)
            yield self._string_base + at + 1, strings[at + 1 : end].decode(errors="replace")
            at = strings.find(start, end)

    def _string_offsets(self, name: str) -> Iterator[int]:
        """All offsets of a string that may be there several times."""
        wanted = b"\0" + name.encode() + b"\0"
        at = self._strings.find(wanted)
        while at >= 0:
            yield self._string_base + at + 1
            at = self._strings.find(wanted, at + 1)

    def _string_offset(self, name: str) -> int | None:
        """The offset of a string, also in the base: split BTF refers to the strings that are there already."""
        if name not in self._names and not self._by_name:
            found = self._strings.find(b"\0" + name.encode() + b"\0")
            self._names[name] = self._string_base + found + 1 if found >= 0 else None
        offset = self._names.get(name)
        return self.base._string_offset(name) if offset is None and self.base else offset

    def _occurrences(self, value: int) -> Iterator[int]:
        """The indexes of the words with this value in the type section."""
        types, wanted = self._types, struct.pack("<I", value)
        at = types.find(wanted)
        while at >= 0:
            if not at & 3:
                yield at >> 2
            at = types.find(wanted, at + 1)

    def _type_words(self) -> array[int]:
        if not self._words:
            self._words.frombytes(self._types)
        return self._words

    def _offsets(self, last: int | None = None) -> array[int]:
        """For each id of this blob, the index of its first word.

        Only the types that begin at or before the word `last` are sure to be there; what programs ask for mostly stands
        near the start, among the types of the scheduler.
        """
        words, at = self._type_words(), self._indexed
        end = len(words) if last is None else min(last + 1, len(words))
        if at < end:
            steps, add = self._steps, self._index.append
            try:
                while at < end:
                    add(at)
                    at += steps[words[at + 1]]
            except IndexError:
                raise BtfError("the last type is cut off") from None
            if at > len(words):
                raise BtfError("the last type is cut off")
            self._indexed = at
        return self._index

    def _offset_of(self, identifier: int) -> int:
        """The index of the first word of a type of this blob. Raises BtfError beyond the last."""
        at, offsets = identifier - self.first_id, self._index
        while len(offsets) <= at and self._indexed < len(self._type_words()):
            self._offsets(self._indexed + _CHUNK)
        if not 0 <= at < len(offsets):
            raise BtfError(f"no BTF type {identifier}")
        return offsets[at]

    def _decode(self, identifier: int, at: int) -> BtfType:
        words = self._type_words()
        info, size_or_type = words[at + 1], words[at + 2]
        kind, count, flag = info >> 24 & 31, info & 0xFFFF, bool(info >> 31)
        result = BtfType(
            identifier,
            kind,
            self.string(words[at]),
            size=size_or_type if kind in _SIZED else 0,
            type=0 if kind in _SIZED else size_or_type,
            flag=flag,
        )
        at += 3
        count_of_words = (_EXTRA.get(kind, 0) + _EACH.get(kind, 0) * count) // 4
        body = words[at : at + count_of_words]
        if len(body) < count_of_words:
            raise BtfError(f"BTF type {identifier} is cut off")
        if kind in (STRUCT, UNION):
            return result._replace(members=self._members(body, flag))
        if kind == FUNC_PROTO:
            return result._replace(parameters=tuple(BtfParameter(self.string(n), t) for n, t in _groups(body, 2)))
        if kind in (ENUM, ENUM64):
            return result._replace(values=self._values(body, kind, flag))
        if kind == DATASEC:
            return result._replace(variables=tuple(BtfVariable(*group) for group in _groups(body, 3)))
        if kind == INT:
            return result._replace(encoding=body[0] >> 24 & 15, bits=body[0] & 0xFF)
        if kind == ARRAY:
            return result._replace(type=body[0], length=body[2])
        if kind == VAR:
            return result._replace(linkage=body[0])
        return result._replace(linkage=count) if kind == FUNC else result

    def _members(self, body: array[int], flag: bool) -> tuple[BtfMember, ...]:
        if not flag:
            return tuple(BtfMember(self.string(name), kind, offset, 0) for name, kind, offset in _groups(body, 3))
        return tuple(
            BtfMember(self.string(name), kind, offset & 0xFFFFFF, offset >> 24)
            for name, kind, offset in _groups(body, 3)
        )

    def _values(self, body: array[int], kind: int, signed: bool) -> tuple[BtfValue, ...]:
        if kind == ENUM:
            raw = [(name, value, 32) for name, value in _groups(body, 2)]
        else:
            raw = [(name, low | high << 32, 64) for name, low, high in _groups(body, 3)]
        return tuple(
            BtfValue(self.string(name), value - (1 << bits) if signed and value >> bits - 1 else value)
            for name, value, bits in raw
        )


def _groups(words: array[int], size: int) -> Iterator[tuple[int, ...]]:
    """The words in tuples of `size`."""
    return zip(*[iter(words)] * size, strict=True)
