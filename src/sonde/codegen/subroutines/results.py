"""What the subroutines of strings share: working memory of the routines, and parts of a text as results."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import as_number, zero
from sonde.codegen.expressions.strings import characters, copy_characters, limit, store_null
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.work import Work
from sonde.model import program as tree


def layout(g: Generation) -> Work:
    """The working memory for strings of any length that the program's can have."""
    return Work(g.shared.settings.string_capacity)


def routine_name(g: Generation, name: str) -> str:
    return f"{name}_{g.shared.settings.string_capacity}"


def moved(memory: Memory, offset: int) -> Memory:
    return Memory(memory.base, memory.offset + offset)


def argument_in(g: Generation, e: tree.Expr, target: Memory) -> Operand:
    """The characters of an argument in working memory; their number."""
    with g.released():
        source, size = characters(g, e)
        return copy_characters(g, source, size, target)


def put(g: Generation, work: Memory, word: int, value: Operand) -> None:
    g.b.store(work.base, work.offset + word, 8, value)


def get(g: Generation, work: Memory, word: int) -> Operand:
    return g.b.load(work.base, work.offset + word, 8)


def part_into(g: Generation, text: Memory, first: Operand, count: Operand, memory: Memory, size: int) -> None:
    """The string of `count` characters from index `first` on; cut to what it may be long."""
    zero(g, memory, size)
    bounded = g.b.copy(count)
    with g.b.when("gt", bounded, Imm(limit(g, size) - 1)):
        g.b.move(bounded, Imm(limit(g, size) - 1))
    address = g.b.alu("add", g.b.in_register(as_number(g, text)), first)
    g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), bounded, address)


def part_if_found(g: Generation, text: Memory, work: Memory, words: tuple[int, int], memory: Memory, size: int) -> None:
    """The part of the text between two offsets that a routine has left in words of `work`; NULL where it has found
    none: the first is negative then."""
    missing, there, end = g.b.label(), g.b.label(), g.b.label()
    start = get(g, work, words[0])
    g.b.branch("slt", start, Imm(0), missing, there)
    g.b.place(missing)
    store_null(g, memory, size)
    g.b.jump(end)
    g.b.place(there)
    part_into(g, text, start, g.b.alu("sub", get(g, work, words[1]), start), memory, size)
    g.b.place(end)
