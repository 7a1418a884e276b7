"""Subroutines that give scratch memory, and that copy between it, the kernel's and the traced process's memory."""

from __future__ import annotations

from sonde.codegen.access import fetch_unchecked, zero
from sonde.codegen.faults import BAD_SIZE, fault_if
from sonde.codegen.generation import Generation
from sonde.codegen.integers import pointer_place, source_of
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.places import Memory, Remote
from sonde.codegen.region import allocate, bounded, span
from sonde.lang import program as tree
from sonde.lang.types import String, resolve


def alloca(g: Generation, e: tree.Call) -> Operand:
    """alloca(size): zeros."""
    size = g.value(e.arguments[0])
    address, memory = allocate(g, size)
    if isinstance(size, Imm):
        zero(g, memory, size.value + 7 & ~7)
    else:
        words = g.b.alu("and", g.b.alu("add", bounded(g, size), Imm(7)), Imm(~7))
        zeros = g.b.map_value(g.shared.maps.zeros(g.shared.settings.scratch_region * 2 + 8))
        g.call("probe_read_kernel", g.address(memory), words, zeros)
    return address


def copyin(g: Generation, e: tree.Call) -> Operand:
    """copyin(address, size): a copy of the process's memory."""
    source = Remote(g.value(e.arguments[0]), 0, user=True)
    size = g.value(e.arguments[1])
    address, memory = allocate(g, size)
    fetch_unchecked(g, source, memory, bounded(g, size))
    return address


def copyinto(g: Generation, e: tree.Call) -> Operand:
    """copyinto(address, size, destination)."""
    source = Remote(g.value(e.arguments[0]), 0, user=True)
    size = g.value(e.arguments[1])
    memory = span(g, _scratch(g, e.arguments[2]), size)
    fetch_unchecked(g, source, memory, bounded(g, size))
    return Imm(0)


def bcopy(g: Generation, e: tree.Call) -> Operand:
    """bcopy(source, destination, size); the two may overlap."""
    source = _source(g, e.arguments[0])
    destination = _scratch(g, e.arguments[1])
    size = g.value(e.arguments[2])
    memory = span(g, destination, size)
    if isinstance(source, Memory):
        fault_if(g, "gt", size, Imm(g.shared.settings.string_capacity), BAD_SIZE, size)
    elif source.scratch:
        source = _aside(g, span(g, source, size), bounded(g, size))
    if isinstance(source, Memory):
        source = Remote(g.address(source), 0)
    fetch_unchecked(g, source, memory, bounded(g, size))
    return Imm(0)


def _scratch(g: Generation, e: tree.Expr) -> Remote:
    place = pointer_place(g, e)
    assert isinstance(place, Remote)
    assert place.scratch, "the checker takes only pointers into scratch memory"
    return place


def _source(g: Generation, e: tree.Expr) -> Remote | Memory:
    """Where to copy from: a string as long as strings can be, or what a pointer points to."""
    if isinstance(resolve(e.type), String):
        size = g.shared.settings.string_capacity
        text = g.temporary(size)
        g.string_into(e, text, size)
        return text
    place = pointer_place(g, e)
    return place if isinstance(place, Remote) else Remote(source_of(g, place), 0)


def _aside(g: Generation, source: Memory, size: Operand) -> Memory:
    """A copy for as long as the statement: the helper that copies does not mind whether the two overlap."""
    region = g.shared.settings.scratch_region
    copy = g.temporary(2 * region + 8)
    g.call("probe_read_kernel", g.argument_of(copy.base, copy.offset), size, g.address(source))
    return copy
