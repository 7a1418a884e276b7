"""The types of the language, as the model has them, and what they are called."""

from __future__ import annotations

from functools import lru_cache

from sonde.frontends.bpftrace.number_forms import FORM
from sonde.frontends.bpftrace.object_names import GLUE_FRAMES, OBJECTS, STACKS
from sonde.model.types import (
    BOOL,
    CHAR,
    STRING,
    Array,
    Enum,
    Int,
    Member,
    Pointer,
    Struct,
    Type,
    Typedef,
    align_of,
    is_signed,
    resolve,
    size_of,
)

INTEGERS = {
    f"{'' if signed else 'u'}int{8 * size}": Int(f"{'' if signed else 'u'}int{8 * size}", size, signed)
    for size in (1, 2, 4, 8)
    for signed in (True, False)
}
INT64, UINT64 = INTEGERS["int64"], INTEGERS["uint64"]
INT32, UINT32 = INTEGERS["int32"], INTEGERS["uint32"]
_FIRST_INT64_BEHIND = 1 << 63
_MOST_STRUCTURES = 4096
"""Types of tuples and records that are kept: more than any program has."""


def integer(size: int, signed: bool) -> Int:
    return INTEGERS[f"{'' if signed else 'u'}int{8 * size}"]


_FLEXIBLE = {size: Typedef(f"flexible int{8 * size}", integer(size, True)) for size in (1, 2, 4, 8)}
"""Signed types of what is made of literals that are not negative alone: with a number of another sign it has that."""
_NEGATIVE = {size: Typedef(f"negative int{8 * size}", integer(size, True)) for size in (1, 2, 4, 8)}
_LARGEST = Typedef("large uint64", UINT64)
_LITERAL = frozenset((*_FLEXIBLE.values(), *_NEGATIVE.values(), _LARGEST))
"""Types of literals, which numbers that are cast to a type have not."""


def is_flexible(kind: Type) -> bool:
    return isinstance(kind, Typedef) and kind in _FLEXIBLE.values()


def is_literal(kind: Type) -> bool:
    """Whether it is the type of a literal, or of what nothing but literals is assigned to."""
    return isinstance(kind, Typedef) and kind in _LITERAL


def fixed(kind: Type) -> Type:
    """The type as programs know it."""
    return resolve(kind) if is_literal(kind) else kind


def learned(kind: Type) -> Type:
    """The type of what holds such a value."""
    return kind if is_flexible(kind) else fixed(kind)


def flexible_like(kind: Type, other: Type) -> Type:
    """The integer type `kind`, flexible if the other one is."""
    return _FLEXIBLE[size_of(kind)] if is_flexible(other) else kind


def smallest(value: int) -> Type:
    """The type of a literal: the smallest signed type that holds it; beyond these it is unsigned."""
    if value >= _FIRST_INT64_BEHIND:
        return _LARGEST
    size = next(size for size in (1, 2, 4, 8) if -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1)
    return (_FLEXIBLE if value >= 0 else _NEGATIVE)[size]


def is_bool(kind: Type) -> bool:
    return resolve(kind) == BOOL


def is_integer(kind: Type) -> bool:
    """Also enumerations and truth values; not numbers that are shown as text."""
    base = resolve(kind)
    return not is_shown_number(base) and _is_number(base)


def _is_number(base: Type) -> bool:
    return isinstance(base, Enum) or (isinstance(base, Int) and base.size <= 8)


def is_scalar(kind: Type) -> bool:
    """Whether values take a word: integers, pointers and numbers that are shown as text."""
    base = resolve(kind)
    return _is_number(base) or isinstance(base, Pointer)


def is_condition(kind: Type) -> bool:
    """Whether a value can be true, and be compared with others: an integer or a pointer."""
    return is_scalar(kind) and not is_shown_number(kind)


def is_string(kind: Type) -> bool:
    return resolve(kind) == STRING


def is_text(kind: Type) -> bool:
    """A string, or characters in an array, which are one where one is wanted."""
    base = resolve(kind)
    return is_string(base) or (isinstance(base, Array) and is_character(base.of))


def is_character(kind: Type) -> bool:
    """Whether arrays of it are strings: int8 is a number."""
    base = resolve(kind)
    return isinstance(base, Int) and base.size == 1 and base.name == CHAR.name


@lru_cache(_MOST_STRUCTURES)
def structure_of(keyword: str, names: tuple[str, ...], kinds: tuple[Type, ...]) -> Struct:
    """The tuple or record of these members, laid out as C does: the same each time, since structures are the same only
    if they are one object."""
    members, end, alignment = [], 0, 1
    for name, kind in zip(names, kinds, strict=True):
        align = align_of(kind)
        end = (end + align - 1) & -align
        members.append(Member(name, kind, 8 * end))
        end += size_of(kind)
        alignment = max(alignment, align)
    # What has no members has a byte nevertheless: there are no values without one.
    end = end or 1
    made = Struct(keyword, f"({','.join(map(spelled, kinds))})", 0)
    made.define((end + alignment - 1) & -alignment, tuple(members))
    return made


def is_object(kind: Type) -> bool:
    """Whether values of the type are structures or arrays of a known size, which are kept as a whole."""
    base = resolve(kind)
    if isinstance(base, Array):
        return base.length is not None and size_of(base) > 0
    return isinstance(base, Struct) and base.size > 0


def is_composed(kind: Type) -> bool:
    """Whether it is a tuple or a record, or another structure that the language has values of."""
    base = resolve(kind)
    return isinstance(base, Struct) and (base.keyword in ("tuple", "record") or base.keyword in OBJECTS)


def has_own_text(kind: Type) -> bool:
    """Whether it is a structure that is shown as something else: a buffer, a stack, the name of an address."""
    base = resolve(kind)
    return isinstance(base, Struct) and base.keyword in OBJECTS


def is_of(kind: Type, keywords: tuple[str, ...]) -> bool:
    """Whether it is a structure of one of these keywords."""
    base = resolve(kind)
    return isinstance(base, Struct) and base.keyword in keywords


def merged(old: Type, new: Type) -> Type | None:
    """The type that holds values of both, None if there is none."""
    one, other = resolve(old), resolve(new)
    if isinstance(one, Int) and isinstance(other, Int) and not (is_bool(one) or is_bool(other)):
        return _wider(old, new)
    if one == other:
        return old
    if is_bool(one) or is_bool(other):
        return None
    if is_integer(one) and is_integer(other):
        return _wider(one, other)
    if isinstance(one, Struct) and isinstance(other, Struct) and is_composed(one) and is_composed(other):
        return _whole(one, other)
    if isinstance(one, Array) and isinstance(other, Array) and (_are_texts(one, other) or _are_bytes(one, other)):
        return old if (one.length or 0) >= (other.length or 0) else new
    if isinstance(one, Pointer) and isinstance(other, Pointer):
        if not _are_compatible(one.to, other.to):
            return None
        is_one_space = (one.user, one.anywhere) == (other.user, other.anywhere)
        return old if is_one_space else one._replace(user=True, anywhere=True)
    return None


def _are_compatible(one: Type, other: Type) -> bool:
    """Whether pointers to both are of one type: numbers of all sizes are alike, structures by their names, and all
    that has one name, as functions, which are void to the language."""
    first, second = resolve(one), resolve(other)
    if isinstance(first, Struct) and isinstance(second, Struct) and not is_composed(first):
        return (first.keyword, first.name) == (second.keyword, second.name)
    return spelled(first) == spelled(second) or merged(first, second) is not None


def _are_texts(one: Array, other: Array) -> bool:
    return is_text(one) and is_text(other)


def _are_bytes(one: Array, other: Array) -> bool:
    """Of buffers and stacks, which may be shorter than there is room for."""
    return one.of == other.of and one.of in (INTEGERS["uint8"], UINT64)


def _whole(one: Struct, other: Struct) -> Type | None:
    """The tuple or record whose members hold those of both."""
    names = tuple(member.name for member in one.members)
    others = {member.name: member.type for member in other.members}
    if one.keyword != other.keyword or len(names) != len(others) or set(names) != set(others):
        return None
    kinds = [merged(each.type, others[each.name]) for each in one.members]
    known = tuple(kind for kind in kinds if kind is not None)
    return structure_of(one.keyword, names, known) if len(known) == len(kinds) else None


def _wider(one: Type, other: Type) -> Type:
    size = max(size_of(one), size_of(other))
    if is_flexible(one) or is_flexible(other):
        known = other if is_flexible(one) else one
        return flexible_like(integer(size, is_signed(known)), known)
    if resolve(one) == resolve(other):
        return fixed(one)
    if is_signed(one) == is_signed(other):
        return integer(size, is_signed(one))
    unsigned = one if not is_signed(one) else other
    # A signed type that holds the unsigned one's values is twice as wide.
    return integer(min(max(size, 2 * size_of(unsigned)), 8), True)


def _spelled_stack(kind: Struct) -> str:
    """With its mode, and how many frames it has."""
    name, _, mode = kind.keyword.partition("_")
    frames = next(each.type for each in kind.members if each.name == "frames")
    count = (resolve(frames).length or 0) - (GLUE_FRAMES if name == "kstack" else 0)  # type: ignore[union-attr]
    return f"{name}_{mode or 'bpftrace'}_{count}"


def base_name(kind: Type) -> str:
    """What kind of type it is, without sizes, as some messages have it."""
    base = resolve(kind)
    if is_text(base):
        return "string"
    if is_bool(base):
        return "bool"
    if isinstance(base, Enum) and is_shown_number(base):
        return _shown_name(base)
    if isinstance(base, (Int, Enum)):
        return "int"
    if isinstance(base, Pointer):
        return "pointer"
    if isinstance(base, Array):
        return "array"
    if isinstance(base, Struct) and is_composed(base):
        return _BASES.get(base.keyword) or base.keyword.partition("_")[0]
    return "c_type" if isinstance(base, Struct) else "void"


_BASES = {"ksym": "ksym_t", "usym": "usym_t"}

_SHOWN = {
    "strftime": "timestamp", "cgroup": "cgroup_path_t", "username": "username_t", "mac": "mac_address",
}  # fmt: skip
"""What numbers are called that are shown as text, by the first words of their forms."""


def _shown_name(kind: Enum) -> str:
    """What such a number's type is called, "" for an enumeration."""
    return _SHOWN.get(kind.name.removeprefix(FORM).split(" ")[0], "int64") if is_shown_number(kind) else ""


def _spelled_object(kind: Struct) -> str:
    """Buffers with the bytes of a record of one: those of its length go before its own."""
    if kind.keyword == "buffer":
        room = next(resolve(each.type) for each in kind.members if isinstance(resolve(each.type), Array))
        return f"buffer[{size_of(room) + _LENGTH}]"
    return {"inet": "inet[24]", "ksym": "ksym_t", "usym": "usym_t"}[kind.keyword]


_LENGTH = 4


def is_shown_number(kind: Type) -> bool:
    """Whether it is an integer that is shown as text."""
    base = resolve(kind)
    return isinstance(base, Enum) and base.name.startswith(FORM)


def spelled(kind: Type) -> str:
    """What messages call a type."""
    base = resolve(kind)
    if is_bool(base):
        return "bool"
    if isinstance(base, Int):
        return f"{'' if base.signed else 'u'}int{8 * base.size}"
    if isinstance(base, Pointer):
        return f"{spelled(base.to)} *"
    if has_own_text(base) and isinstance(base, Struct):
        return _spelled_stack(base) if base.keyword in STACKS else _spelled_object(base)
    if isinstance(base, Struct) and base.keyword == "record":
        return f"record {{ {', '.join(f'.{each.name} = {spelled(each.type)}' for each in base.members)} }}"
    if isinstance(base, Struct) and is_composed(base):
        return base.name
    if isinstance(base, Array) and is_text(base):
        return f"string[{base.length or 0}]"
    if isinstance(base, Array):
        return f"{spelled(base.of)}[{base.length or 0}]"
    if isinstance(base, Enum):
        return _shown_name(base) or f"enum {base.name}"
    if isinstance(base, Struct):
        return f"{base.keyword} {base.name}"
    return "string" if is_string(base) else "void"
