"""Arrays of bytes that are constant, or read as far as a value says; arrays that are filled in part."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import HeldInRegister, Memory, Remote
from sonde.codegen.expressions.access import fetch_unchecked, load_bytes, store, zero
from sonde.codegen.expressions.integers import pointer_place, source_of
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.types import size_of
from sonde.model.units import whole_words


def constant(g: Generation, e: tree.StringConst) -> Memory:
    """The bytes in temporary memory, NULs among them."""
    size = whole_words(size_of(e.type))
    memory = g.framed(size)
    padded = e.value.ljust(size, b"\0")
    for start in range(0, size, 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        store(g, Memory(memory.base, memory.offset + start), 8, Imm(signed(word)))
    return memory


def read(g: Generation, e: tree.ReadBytes) -> Memory:
    """The array in temporary memory; an address that cannot be read is a fault."""
    most = size_of(e.type)
    memory = g.framed(whole_words(most))
    zero(g, memory, whole_words(most))
    size = g.b.copy(g.value(e.size))
    with g.b.when("gt", size, Imm(most)):
        g.b.move(size, Imm(most))
    place = pointer_place(g, e.address)
    source = place if isinstance(place, Remote) else Remote(source_of(g, place), 0, False)
    fetch_unchecked(g, source, memory, size)
    return memory


def filled_words(g: Generation, e: tree.FilledWords) -> Operand:
    """The words are looked at one by one, without a loop: kernels that have none take it."""
    place = g.place(e.array)
    assert not isinstance(place, HeldInRegister)
    count, end = g.b.copy(Imm(0)), g.b.label()
    for number in range(e.most):
        word, following = load_bytes(g, place._replace(offset=place.offset + 8 * number), 8, False), g.b.label()
        g.b.branch("eq", word, Imm(0), end, following)
        g.b.place(following)
        g.b.move(count, Imm(number + 1))
    g.b.place(end)
    return count
