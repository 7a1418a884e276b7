"""Questions about types of BTF: what is behind qualifiers and typedefs, sizes, and how C spells them."""

from __future__ import annotations

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfType
from sonde.objects.errors import ObjectError

_TRANSPARENT = frozenset((btf.TYPEDEF, btf.VOLATILE, btf.CONST, btf.RESTRICT, btf.TYPE_TAG))
_SIZED = frozenset((btf.INT, btf.STRUCT, btf.UNION, btf.ENUM, btf.ENUM64, btf.FLOAT, btf.DATASEC))
_DEEPEST = 32
"""Types behind each other, MAX_RESOLVE_DEPTH of the kernel; more go round in a circle."""
_POINTER = 8


def stripped(types: Btf, identifier: int) -> BtfType:
    """The type itself, without typedefs, qualifiers and tags. Raises ObjectError."""
    for _ in range(_DEEPEST):
        found = types.type(identifier)
        if found.kind not in _TRANSPARENT:
            return found
        identifier = found.type
    raise ObjectError(f"type {identifier} of its BTF refers to itself")


def size_of(types: Btf, identifier: int) -> int:
    """In bytes, 0 for what has no size. Raises ObjectError."""
    count = 1
    for _ in range(_DEEPEST):
        found = stripped(types, identifier)
        if found.kind == btf.ARRAY:
            count *= found.length
            identifier = found.type
        elif found.kind == btf.VAR:
            identifier = found.type
        elif found.kind == btf.PTR:
            return count * _POINTER
        else:
            return count * found.size if found.kind in _SIZED else 0
    raise ObjectError(f"type {identifier} of its BTF refers to itself")


def spelled(types: Btf, identifier: int, inner: str = "", depth: int = 0) -> str:
    """The type as C declares `inner` of it: `char comm[16]`, `struct file *`."""
    if depth > _DEEPEST:
        return f"... {inner}".rstrip()
    found = types.type(identifier)
    match found.kind:
        case btf.PTR:
            target = types.type(found.type)
            is_compound = target.kind in (btf.ARRAY, btf.FUNC_PROTO)
            return spelled(types, found.type, f"(*{inner})" if is_compound else f"*{inner}", depth + 1)
        case btf.ARRAY:
            return spelled(types, found.type, f"{inner}[{found.length}]", depth + 1)
        case btf.FUNC_PROTO:
            parameters = ", ".join(
                spelled(types, each.type, each.name, depth + 1) if each.type else "..." for each in found.parameters
            )
            return spelled(types, found.type, f"{inner}({parameters or 'void'})", depth + 1)
        case btf.CONST | btf.VOLATILE | btf.RESTRICT:
            word = {btf.CONST: "const", btf.VOLATILE: "volatile", btf.RESTRICT: "restrict"}[found.kind]
            if types.type(found.type).kind == btf.PTR:
                return spelled(types, found.type, f"{word} {inner}".rstrip(), depth + 1)
            return f"{word} {spelled(types, found.type, inner, depth + 1)}"
        case btf.TYPE_TAG:
            return spelled(types, found.type, inner, depth + 1)
    return f"{_keyword(found)} {inner}".strip()


def _keyword(found: BtfType) -> str:
    keywords = {btf.STRUCT: "struct", btf.UNION: "union", btf.ENUM: "enum", btf.ENUM64: "enum"}
    if found.kind == btf.FWD:
        return f"{'union' if found.flag else 'struct'} {found.name}"
    keyword = keywords.get(found.kind, "")
    return f"{keyword} {found.name}".strip() or "void"
