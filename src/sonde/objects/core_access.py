"""What a CO-RE relocation refers to: a field, a type or an enumerator of the object's BTF, and the same of another BTF.

An access string is numbers with colons between them: an index of the type itself as an array, then for each structure
the member's number, for each array the element's. Of an enumerator it is its number, of a type 0.
(Documentation/bpf/libbpf/libbpf_overview.rst, include/uapi/linux/bpf.h struct bpf_core_relo.)
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfMember, BtfType
from sonde.objects.errors import ObjectError
from sonde.objects.types import size_of, stripped
from sonde.typed import NamedTuple

COMPOUND = frozenset((btf.STRUCT, btf.UNION))
ENUMS = frozenset((btf.ENUM, btf.ENUM64))
_DEEPEST = 64


class MemberStep(NamedTuple):
    """One named member, or, with the name "", an element of an array by its number; `type` is what is there."""

    name: str
    number: int
    type: int


class ObjectField(NamedTuple):
    """A place in an object of type `root`: the steps to it, its offset in bits, its type, and the width of a bit-field,
    else 0."""

    root: int
    steps: tuple[MemberStep, ...]
    offset: int
    type: int
    bits: int = 0


def essential(name: str) -> str:
    """A name without its flavour: what follows three underscores is the object's own."""
    before, flavour, _ = name.partition("___")
    return before if flavour and before else name


def numbers_of(access: str) -> tuple[int, ...]:
    """Raises ObjectError."""
    parts = access.split(":")
    if not all(each.isascii() and each.isdigit() and len(each) < 8 for each in parts) or len(parts) > _DEEPEST:
        raise ObjectError(f"a relocation has the access {access[:60]!r}")
    return tuple(map(int, parts))


def local_field(types: Btf, root: int, access: tuple[int, ...]) -> ObjectField:
    """The field that the object itself has there. Raises ObjectError."""
    steps = [MemberStep("", access[0], root)]
    offset, here, bits = access[0] * size_of(types, root) * 8, root, 0
    for number in access[1:]:
        found = stripped(types, here)
        bits = 0
        if found.kind in COMPOUND and number < len(found.members):
            each = found.members[number]
            offset, here, bits = offset + each.offset, each.type, each.bits
            if each.name:
                steps.append(MemberStep(each.name, number, here))
        elif found.kind == btf.ARRAY:
            here = found.type
            offset += number * size_of(types, here) * 8
            steps.append(MemberStep("", number, here))
        else:
            raise ObjectError(f"a relocation goes into type {found.id} of its BTF, which has no part {number}")
    return ObjectField(root, tuple(steps), offset, here, bits)


def same_field(types: Btf, root: int, local: Btf, field: ObjectField) -> ObjectField | None:
    """The field of the same names in type `root` of another BTF; None if there is none that is compatible."""
    first, *rest = field.steps
    offset, here, bits = first.number * size_of(types, root) * 8, root, 0
    for step in rest:
        bits = 0
        if step.name:
            found = _member(types, here, step.name)
            if found is None:
                return None
            inside, each = found
            offset, here, bits = offset + inside, each.type, each.bits
        else:
            array = stripped(types, here)
            # The last array of a structure may be one of any length, whatever it says.
            if array.kind != btf.ARRAY or (array.length > 1 and step.number >= array.length):
                return None
            here = array.type
            offset += step.number * size_of(types, here) * 8
        if not compatible_fields(local, step.type, types, here):
            return None
    return ObjectField(root, field.steps, offset, here, bits)


def _member(types: Btf, identifier: int, name: str, depth: int = 0) -> tuple[int, BtfMember] | None:
    """A member by its name, and its offset in bits; also one of a structure without a name."""
    found = stripped(types, identifier)
    if found.kind not in COMPOUND or depth > _DEEPEST:
        return None
    for each in found.members:
        if each.name == name:
            return each.offset, each
        if not each.name:
            inner = _member(types, each.type, name, depth + 1)
            if inner is not None:
                return each.offset + inner[0], inner[1]
    return None


def compatible_fields(local: Btf, first: int, types: Btf, second: int, depth: int = 0) -> bool:
    """Whether what was compiled for a field of the one type can do with the other."""
    one, other = stripped(local, first), stripped(types, second)
    if one.kind in COMPOUND and other.kind in COMPOUND:
        return True
    if (one.kind in ENUMS and other.kind in ENUMS) or one.kind == other.kind == btf.FWD:
        return not one.name or not other.name or essential(one.name) == essential(other.name)
    if one.kind != other.kind or depth > _DEEPEST:
        return False
    if one.kind == btf.ARRAY:
        return compatible_fields(local, one.type, types, other.type, depth + 1)
    return one.kind in (btf.PTR, btf.INT, btf.FLOAT)


def compatible_types(local: Btf, first: int, types: Btf, second: int, depth: int = 0) -> bool:
    """Whether the types are of one kind all the way down; members are not looked at."""
    one, other = stripped(local, first), stripped(types, second)
    if one.kind != other.kind and not (one.kind in ENUMS and other.kind in ENUMS):
        return False
    if depth > _DEEPEST:
        return False
    if one.kind in (btf.PTR, btf.ARRAY):
        return compatible_types(local, one.type, types, other.type, depth + 1)
    if one.kind == btf.FUNC_PROTO:
        return len(one.parameters) == len(other.parameters) and all(
            compatible_types(local, a, types, b, depth + 1) for a, b in _parts(one, other)
        )
    return True


def _parts(one: BtfType, other: BtfType) -> Iterator[tuple[int, int]]:
    yield one.type, other.type
    for a, b in zip(one.parameters, other.parameters, strict=True):
        yield a.type, b.type


def matching_types(
    local: Btf, first: int, types: Btf, second: int, behind_pointer: bool = False, depth: int = 0
) -> bool:
    """Whether the other type has all that the object's own has: members by name and type, enumerators, sizes."""
    one, other = stripped(local, first), stripped(types, second)
    if depth > _DEEPEST or essential(one.name) != essential(other.name):
        return False
    if behind_pointer and btf.FWD in (one.kind, other.kind):
        return {one.kind, other.kind} <= COMPOUND | {btf.FWD}
    if one.kind != other.kind and not (one.kind in ENUMS and other.kind in ENUMS):
        return False
    match one.kind:
        case btf.STRUCT | btf.UNION:
            if behind_pointer:
                return True
            return all(_has_member(local, each, types, other, depth) for each in one.members)
        case btf.ENUM | btf.ENUM64:
            names = {essential(each.name) for each in other.values}
            return all(essential(each.name) in names for each in one.values)
        case btf.INT:
            return one.size == other.size and one.encoding & btf.INT_SIGNED == other.encoding & btf.INT_SIGNED
        case btf.PTR:
            return matching_types(local, one.type, types, other.type, True, depth + 1)
        case btf.ARRAY:
            same = one.length == other.length
            return same and matching_types(local, one.type, types, other.type, False, depth + 1)
        case btf.FUNC_PROTO:
            return len(one.parameters) == len(other.parameters) and all(
                matching_types(local, a, types, b, behind_pointer, depth + 1) for a, b in _parts(one, other)
            )
    return True


def _has_member(local: Btf, member: BtfMember, types: Btf, other: BtfType, depth: int) -> bool:
    return any(
        essential(each.name) == essential(member.name)
        and matching_types(local, member.type, types, each.type, False, depth + 1)
        for each in other.members
    )
