"""Subroutines that make a number of nothing or of another number, or a text of one."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis.faults import ILLEGAL_OPERATION, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.shapes import names_of_numbers
from sonde.codegen.expressions.strings import copy_string
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines import bases, characters
from sonde.codegen.routines.texts import DIGITS, LENGTH, SIZE, TEXT
from sonde.codegen.subroutines.results import argument_in, get, layout, moved, part_into, put, routine_name
from sonde.model import program as tree
from sonde.model.units import whole_words
from sonde.model.walk import is_zero


def rand(g: Generation, e: tree.Call) -> Operand:
    """32 random bits, as an int."""
    return g.b.extend(g.call("get_prandom_u32"), 4, True)


def swapped(size: int) -> Callable[[Generation, tree.Call], Operand]:
    def swap(g: Generation, e: tree.Call) -> Operand:
        return g.b.swap(g.value(e.arguments[0]), size)

    return swap


_MINOR_BITS = 20
"""Of the kernel's dev_t (include/linux/kdev_t.h)."""


def getmajor(g: Generation, e: tree.Call) -> Operand:
    return g.b.alu("rsh", g.value(e.arguments[0]), Imm(_MINOR_BITS))


def getminor(g: Generation, e: tree.Call) -> Operand:
    return g.b.alu("and", g.value(e.arguments[0]), Imm((1 << _MINOR_BITS) - 1))


def named(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """__named(number, texts, magnitude): one of constant texts, by its number (`names_of_numbers`); where the third
    argument is not 0 a negative number has the text of the positive one."""
    texts = names_of_numbers(e)
    width = whole_words(max(map(len, texts)) + 1)
    number = g.b.copy(g.value(e.arguments[0]))
    if not is_zero(e.arguments[2]):
        with g.b.when("slt", number, Imm(0)):
            g.b.move(number, g.b.alu("sub", Imm(0), number))
    with g.b.when("gt", number, Imm(len(texts) - 1)):
        g.b.move(number, Imm(len(texts) - 1))
    start = g.b.map_value(*g.shared.maps.text(b"".join(text.ljust(width, b"\0") for text in texts)))
    row = g.b.in_register(g.b.alu("add", start, g.b.alu("mul", number, Imm(width))))
    copy_string(g, Memory(row, 0), width, memory, size)


def lltostr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The digits of a number, in base 10 or another."""
    require_loops(g, f"{e.name}()", e.position)
    if len(e.arguments) > 1:
        _in_base(g, e, memory, size)
        return
    work = g.framed(SIZE)
    g.routine("decimal", g.address(work), g.b.in_register(g.value(e.arguments[0])))
    start = get(g, work, LENGTH)
    part_into(g, moved(work, TEXT), start, g.b.alu("sub", Imm(DIGITS), start), memory, size)


_LOWEST_BASE, _HIGHEST_BASE = 2, 36


def base_of(g: Generation, e: tree.Call) -> Operand:
    """The second argument as a base; one that has no digits is a fault."""
    base = g.b.in_register(g.value(e.arguments[1])) if len(e.arguments) > 1 else Imm(10)
    fault_if(g, "lt", base, Imm(_LOWEST_BASE), ILLEGAL_OPERATION, Imm(0))
    fault_if(g, "gt", base, Imm(_HIGHEST_BASE), ILLEGAL_OPERATION, Imm(0))
    return base


def _in_base(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    number = g.b.in_register(g.value(e.arguments[0]))
    base = g.b.in_register(base_of(g, e))
    work = g.framed(bases.SIZE)
    g.routine("based", g.address(work), number, base)
    start = get(g, work, bases.LENGTH)
    part_into(g, moved(work, bases.TEXT), start, g.b.alu("sub", Imm(bases.END), start), memory, size)


def strtoll(g: Generation, e: tree.Call) -> Operand:
    """The number that a text begins with."""
    require_loops(g, f"{e.name}()", e.position)
    base = g.b.in_register(base_of(g, e))
    work = g.framed(layout(g).size)
    put(g, work, characters.LENGTH, argument_in(g, e.arguments[0], moved(work, layout(g).first)))
    put(g, work, characters.BASE, base)
    return g.routine(routine_name(g, "number"), g.address(work))
