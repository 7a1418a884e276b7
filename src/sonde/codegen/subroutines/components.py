"""Subroutines for paths: basename, dirname, cleanpath."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.strings import store_text
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.components import BEFORE, END, LENGTH, START, WRITTEN
from sonde.codegen.subroutines.results import argument_in, get, layout, moved, part_into, put, routine_name
from sonde.model import program as tree


def _worked(g: Generation, e: tree.Call, routine: str) -> Memory:
    """Working memory in which a routine has dealt with the argument."""
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(layout(g).size)
    put(g, work, LENGTH, argument_in(g, e.arguments[0], moved(work, layout(g).first)))
    g.routine(routine_name(g, routine), g.address(work))
    return work


def basename(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The last component; "/" of slashes alone, "." of nothing."""
    work = _worked(g, e, "last_component")
    start = get(g, work, START)
    there, end = g.b.label(), g.b.label()
    g.b.branch("sge", start, Imm(0), there)
    _slash_or_dot(g, get(g, work, LENGTH), memory, size)
    g.b.jump(end)
    g.b.place(there)
    _part(g, work, start, get(g, work, END), memory, size)
    g.b.place(end)


def dirname(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """What is before the last component and its slashes; "/" at the root, "." where nothing is before it."""
    work = _worked(g, e, "last_component")
    start, before = get(g, work, START), get(g, work, BEFORE)
    there, short, end = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("ne", before, Imm(0), there, short)
    g.b.place(short)
    # Without a component before, it depends on whether the first one stands behind a slash.
    slashes = g.b.choose("slt", start, Imm(0), lambda: get(g, work, LENGTH), lambda: start)
    _slash_or_dot(g, slashes, memory, size)
    g.b.jump(end)
    g.b.place(there)
    _part(g, work, Imm(0), before, memory, size)
    g.b.place(end)


def cleanpath(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The path without empty components, "." and what ".." undoes."""
    work = _worked(g, e, "clean_path")
    part_into(g, moved(work, layout(g).second), Imm(0), get(g, work, WRITTEN), memory, size)


def _part(g: Generation, work: Memory, start: Operand, end: Operand, memory: Memory, size: int) -> None:
    part_into(g, moved(work, layout(g).first), start, g.b.alu("sub", end, start), memory, size)


def _slash_or_dot(g: Generation, slashes: Operand, memory: Memory, size: int) -> None:
    store_text(g, b"/", memory, size)
    with g.b.when("eq", slashes, Imm(0)):
        g.b.store(memory.base, memory.offset, 1, Imm(ord(".")))
