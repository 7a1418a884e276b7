"""Members of the kernel's own structures that generated code looks at: where this kernel has them, and their values."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Remote
from sonde.codegen.expressions.access import load_bytes
from sonde.codegen.intermediate.ir import Operand
from sonde.model import program as tree
from sonde.model.types import Struct, resolve


def read_member(g: Generation, pointer: Operand, offset: int, size: int) -> Operand:
    """An unsigned integer or pointer of `size` bytes, `offset` bytes behind an address; a bad one is a fault."""
    return load_bytes(g, Remote(pointer, offset), size, False)


def offset_of(g: Generation, e: tree.Builtin | tree.Call, structure: str, *path: str) -> int:
    """The offset in bytes of a member, of a member's member ..., of `struct structure`. Raises Unsupported."""
    found = member_offset(g, structure, *path)
    if found is None:
        missing = ".".join((structure, *path))
        raise Unsupported(f"{e.name} (this kernel's BTF has no {missing})", e.position)
    return found


def member_offset(g: Generation, structure: str, *path: str) -> int | None:
    """The same; None where the kernel's BTF has no such member."""
    type_ = g.shared.kernel_type("struct", structure)
    bits = 0
    for name in path:
        found = type_.find(name) if isinstance(type_, Struct) else None
        if found is None:
            return None
        bits += found.offset
        type_ = resolve(found.type)
    return bits // 8
