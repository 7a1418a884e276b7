"""Structures made of values."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions import whole_objects
from sonde.codegen.expressions.access import copy, store, zero
from sonde.codegen.expressions.stacks import stack_into
from sonde.codegen.intermediate.ir import Imm
from sonde.model import program as tree
from sonde.model.types import Array, String, Struct, Type, resolve, size_of
from sonde.model.units import whole_words


def place(g: Generation, e: tree.Compose) -> Memory:
    """The structure in temporary memory, which is never on the stack: members may be at any offset."""
    base = resolve(e.type)
    if isinstance(base, Array):
        return whole_objects.of_number(g, e)
    assert isinstance(base, Struct)
    size = whole_words(base.size)
    memory = g.framed(size)
    zero(g, memory, size)
    for member, value in zip(base.members, e.values, strict=True):
        _set(g, value, member.type, Memory(memory.base, memory.offset + member.offset // 8))
    return memory


def _set(g: Generation, value: tree.Expr, kind: Type, memory: Memory) -> None:
    size = size_of(kind)
    if isinstance(resolve(value.type), String):
        # Bytes may be as many as the characters, which have a NUL behind them.
        room = whole_words(size + 1)
        text = g.temporary(room)
        g.string_into(value, text, room)
        g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), Imm(size), g.address(text))
    elif isinstance(value, tree.StackTrace):
        stack_into(g, value, memory, size)
    elif isinstance(resolve(kind), (Struct, Array)):
        copy(g, g.place(value), memory, min(size, size_of(value.type)))
    else:
        store(g, memory, size, g.value(value))
