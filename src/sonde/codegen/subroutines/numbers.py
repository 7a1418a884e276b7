"""Subroutines that make a number of nothing or of another number, or a text of one."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.generation import Generation
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.kernels import require_loops
from sonde.codegen.places import Memory
from sonde.codegen.routines.texts import DIGITS, LENGTH, SIZE, TEXT
from sonde.codegen.subroutines.results import get, moved, part_into
from sonde.lang import program as tree


def rand(g: Generation, e: tree.Call) -> Operand:
    return g.b.alu("and", g.call("get_prandom_u32"), Imm(0x7FFFFFFF))


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


def lltostr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The decimal digits of a signed number."""
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(SIZE)
    g.routine("decimal", g.address(work), g.b.in_register(g.value(e.arguments[0])))
    start = get(g, work, LENGTH)
    part_into(g, moved(work, TEXT), start, g.b.alu("sub", Imm(DIGITS), start), memory, size)
