"""Structures and arrays compared, and arrays made of a number's bytes."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import copy, store
from sonde.codegen.intermediate.ir import Imm
from sonde.model import program as tree
from sonde.model.types import size_of
from sonde.model.units import whole_words


def compare(g: Generation, e: tree.Binary, then: int, otherwise: int) -> None:
    """== and != of objects of one size: all of their bytes."""
    equal, different = (then, otherwise) if e.op == "==" else (otherwise, then)
    left, right = (_copied(g, each) for each in (e.left, e.right))
    for start in range(0, whole_words(size_of(e.left.type)), 8):
        following = g.b.label()
        words = [g.b.load(each.base, each.offset + start, 8) for each in (left, right)]
        g.b.branch("eq", words[0], words[1], following, different)
        g.b.place(following)
    g.b.jump(equal)


def _copied(g: Generation, e: tree.Expr) -> Memory:
    """In memory of its own, whole words with zeros behind it."""
    size = size_of(e.type)
    room = whole_words(size)
    memory = g.temporary(room)
    if room > size:
        g.b.store(memory.base, memory.offset + room - 8, 8, Imm(0))
    copy(g, g.place(e), memory, size)
    return memory


def of_number(g: Generation, e: tree.Compose) -> Memory:
    """The array whose bytes are those of a number."""
    (value,) = e.values
    memory = g.framed(8)
    store(g, memory, size_of(e.type), g.value(value))
    return memory
