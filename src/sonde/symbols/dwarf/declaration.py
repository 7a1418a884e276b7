"""A C structure that variables are fetched into: one member each, laid out as C does."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.spec import Fetch
from sonde.model.types import Array, Enum, Float, Int, Pointer, Struct, Type, align_of, name_of, resolve, size_of
from sonde.typed import NamedTuple
from sonde.visible import visible

_INTEGERS = {1: "char", 2: "short", 4: "int", 8: "long"}
_PLAIN_FLOATS = {4: "float", 8: "double"}


class DeclaredField(NamedTuple):
    """A variable: `fetches` are made for an offset of 0; `reason` says why there are none."""

    name: str
    type: Type
    fetches: tuple[Fetch, ...]
    reason: str = ""


class DeclaredMember(NamedTuple):
    """A member of the structure, in bytes."""

    name: str
    offset: int
    size: int


class StructureDeclaration(NamedTuple):
    """The declaration's text, the size of the structure and the alignment in bytes, its members, and what fetches all
    of it."""

    text: str
    size: int
    alignment: int
    members: tuple[DeclaredMember, ...]
    fetches: tuple[Fetch, ...]


def declaration(name: str, fields: Sequence[DeclaredField]) -> StructureDeclaration:
    """The structure `name` of the variables that can be fetched; the others are named in comments."""
    lines: list[str] = []
    members: list[DeclaredMember] = []
    fetched: list[Fetch] = []
    at, alignment = 0, 1
    for each in fields:
        size = size_of(each.type)
        if each.reason or not size:
            reason = each.reason or "it has no size"
            lines.append(f"    /* {_comment(each.name)}: {_comment(reason)} */")
            continue
        boundary = _boundary(each.type)
        at += -at % boundary
        alignment = max(alignment, boundary)
        member = _identifier(each.name)
        lines.append(f"    {_member(each.type, member)}")
        members.append(DeclaredMember(member, at, size))
        fetched += [fetch._replace(offset=fetch.offset + at) for fetch in each.fetches]
        at += size
    size = at + -at % alignment
    body = "".join(f"{line}\n" for line in lines)
    return StructureDeclaration(f"struct {name} {{\n{body}}};\n", size, alignment, tuple(members), tuple(fetched))


def _boundary(kind: Type) -> int:
    """What is declared as bytes may lie anywhere."""
    return align_of(kind) if _scalar(kind) else 1


def _member(kind: Type, name: str) -> str:
    scalar = _scalar(kind)
    shown = _comment(name_of(kind))
    if scalar:
        joint = "" if scalar.endswith("*") else " "
        return f"{scalar}{joint}{name};" + ("" if scalar == shown else f" /* {shown} */")
    element = resolve(kind)
    if isinstance(element, Array) and element.length and (inner := _scalar(element.of)):
        joint = "" if inner.endswith("*") else " "
        return f"{inner}{joint}{name}[{element.length}] __attribute__((packed)); /* {shown} */"
    return f"unsigned char {name}[{size_of(kind)}]; /* {shown} */"


def _identifier(name: str) -> str:
    if name.isidentifier() and name.isascii():
        return name
    name = "".join(each if each.isascii() and each.isalnum() else "_" for each in name)
    return f"_{name}" if name[:1].isdigit() else name


def _scalar(kind: Type) -> str:
    """A number's or a pointer's type in plain C, "" for what is neither."""
    match resolve(kind):
        case Int(_, size, is_signed) if size in _INTEGERS:
            prefix = "" if is_signed and size > 1 else "signed " if is_signed else "unsigned "
            return "char" if name_of(resolve(kind)) == "char" else prefix + _INTEGERS[size]
        case Enum(_, size, is_signed, _) if size in _INTEGERS:
            return ("signed " if is_signed else "unsigned ") + _INTEGERS[size]
        case Float(name, size) if size in _PLAIN_FLOATS and "_Complex" not in name:
            return _PLAIN_FLOATS[size]
        case Pointer(target):
            inner = resolve(target)
            if isinstance(inner, Struct) and inner.name.isidentifier():
                return f"{inner.keyword} {inner.name} *"
            return "char *" if isinstance(inner, Int) and inner.name == "char" else "void *"
    return ""


def _comment(text: str) -> str:
    """Text that cannot end the comment it is in."""
    return visible(text).replace("*/", "* /")
