"""Values by their types: bytes of a record, or of a map's element, to text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.frontends.bpftrace.number_forms import FORM
from sonde.frontends.bpftrace.object_names import OBJECTS
from sonde.frontends.bpftrace.report import number_forms
from sonde.model.records import MemberSpec, TypeSpec
from sonde.report.number import REALS, real_text


class LanguageTypes:
    """The types of a program, with what shows values of the language's own structures."""

    def __init__(
        self,
        specs: Sequence[TypeSpec],
        objects: Callable[[str, bytes], bytes],
        longest: int,
        trailer: bytes,
        escaped: Callable[[bytes], bytes],
    ) -> None:
        """`objects` gives text for a keyword and the bytes of a structure; strings of `longest` characters have been
        cut, and `trailer` stands behind these. `escaped` is text from outside as it may be shown."""
        self._specs = specs
        self.objects = objects
        self.escaped = escaped
        self._longest = longest
        self._trailer = trailer

    def __getitem__(self, number: int) -> TypeSpec:
        return self._specs[number]

    def whole(self, text: bytes) -> bytes:
        """A string, with a mark behind one that has been cut."""
        return text if len(text) < self._longest else text + self._trailer

    def shown(self, text: bytes) -> bytes:
        """The same as it may be shown."""
        return self.escaped(self.whole(text))

    def name(self, text: str) -> bytes:
        """A name of a type, a member or a map, as it may be shown."""
        return self.escaped(text.encode(errors="surrogateescape"))

    def number(self, spec: TypeSpec, value: int) -> bytes:
        """`number_text` as it may be shown: enumerators, users and control groups have the names that others gave. The
        format of a time is the program's."""
        text = number_text(spec, value)
        is_own = spec.kind != "enum" or spec.name.startswith(_TIME)
        return text if is_own else self.escaped(text)


_ENUM = "enum "
_FORM = _ENUM + FORM
_TIME = f"{_FORM}strftime "
_TUPLE = "tuple"
"""How the names of types begin that are shown as tuples."""


def value_text(types: LanguageTypes, number: int, data: bytes) -> bytes:
    """What print() shows of a value of that type, whose memory begins with `data`."""
    spec = types[number]
    match spec.kind:
        case "string":
            return types.shown(data.partition(b"\0")[0])
        case "array":
            return _array(types, spec, data)
        case "struct":
            keyword = own_keyword(spec)
            return types.objects(keyword, data[: spec.size]) if keyword else _structure(types, spec, data)
        case kind if kind in REALS:
            return real_text(data[: spec.size], kind)
        case _:
            return types.number(spec, int.from_bytes(data[: spec.size], "little", signed=spec.signed))


def number_text(spec: TypeSpec, value: int) -> bytes:
    """An integer: truth values and enumerators by their names, as they are, addresses in hexadecimal."""
    if spec.kind == "pointer":
        return b"0x%x" % (value & (1 << 64) - 1)
    if spec.kind == "enum":
        if has_form(spec):
            return number_forms.form_of_number(spec.name.removeprefix(_ENUM), value)
        name = next((name for name, number in spec.values if number == value), None)
        return b"%d" % value if name is None else name.encode(errors="surrogateescape")
    if spec.name == "_Bool":
        return b"true" if value else b"false"
    return b"%d" % value


def _array(types: LanguageTypes, spec: TypeSpec, data: bytes) -> bytes:
    element = types[spec.element]
    if element.kind == "char":
        return types.shown(data[: spec.size].partition(b"\0")[0])
    size = element.size or 1
    parts = [value_text(types, spec.element, data[at : at + size]) for at in range(0, spec.size, size)]
    return b"[" + b",".join(parts) + b"]"


def _structure(types: LanguageTypes, spec: TypeSpec, data: bytes) -> bytes:
    values = [
        (member.name, _member(types, member.type, member.offset, member.bits, data))
        if not is_unread(types, spec, member)
        else (member.name, b"null")
        for member in members_of(types, spec)
    ]  # fmt: skip
    if is_tuple(spec):
        return b"(" + b", ".join(text for _, text in values) + b")"
    if not values:
        return b"{}"
    return b"{ " + b", ".join(b".%s = %s" % (types.name(name), text) for name, text in values) + b" }"


def members_of(types: LanguageTypes, spec: TypeSpec) -> Iterator[MemberSpec]:
    """The members of one that has no name are those of the structure that it is in."""
    for member in spec.members:
        if member.name or types[member.type].kind != "struct":
            yield member
        else:
            inner = members_of(types, types[member.type])
            yield from (each._replace(offset=each.offset + member.offset) for each in inner)


def is_unread(types: LanguageTypes, spec: TypeSpec, member: MemberSpec) -> bool:
    """Whether it is a floating-point number in a union, where it is mostly the bits of something else: the language has
    no such numbers, and shows none there."""
    return spec.name.startswith("union") and types[member.type].kind in REALS


def _member(types: LanguageTypes, number: int, offset: int, bits: int, data: bytes) -> bytes:
    if not bits:
        return value_text(types, number, data[offset // 8 :])
    return types.number(types[number], bits_of(types[number], offset, bits, data))


def bits_of(spec: TypeSpec, offset: int, bits: int, data: bytes) -> int:
    """A bit-field of that type, so many bits behind the start of `data`."""
    value = int.from_bytes(data[offset // 8 : offset // 8 + 9], "little") >> offset % 8 & (1 << bits) - 1
    return value - (1 << bits) if spec.signed and value >> bits - 1 else value


def is_tuple(spec: TypeSpec) -> bool:
    """Whether values of the type are shown without the names of their members."""
    return spec.name.startswith(_TUPLE)


def own_keyword(spec: TypeSpec) -> str:
    """The keyword of a structure that is shown as something else, "" of others."""
    keyword = spec.name.partition(" ")[0]
    return keyword if keyword in OBJECTS else ""


def has_form(spec: TypeSpec) -> bool:
    """Whether integers of that type are shown as something else."""
    return spec.name.startswith(_FORM)
