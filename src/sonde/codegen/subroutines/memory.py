"""Subroutines that give scratch memory, and that copy between it, the kernel's and the traced process's memory."""

from __future__ import annotations

from sonde.codegen.basis.faults import BAD_ADDRESS, BAD_SIZE, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory, Remote
from sonde.codegen.expressions.access import fetch_unchecked, zero
from sonde.codegen.expressions.integers import pointer_place, source_of
from sonde.codegen.expressions.region import allocate, bounded, size_of_region, span
from sonde.codegen.expressions.strings import characters, characters_into
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.types import String, resolve
from sonde.model.units import whole_words

_WORD = 8
"""Bytes of scratch memory are given in such steps."""


def alloca(g: Generation, e: tree.Call) -> Operand:
    """alloca(size): zeros."""
    size = g.value(e.arguments[0])
    address, memory = allocate(g, size)
    if isinstance(size, Imm):
        zero(g, memory, whole_words(size.value))
    else:
        _zero_words(g, memory, size)
    return address


def _zero_words(g: Generation, memory: Memory, size: Operand) -> None:
    """All words of an allocation whose size is found at run time."""
    words = g.b.alu("and", g.b.alu("add", bounded(g, size), Imm(7)), Imm(~7))
    zeros = g.b.map_value(g.shared.maps.zeros(size_of_region(g) * 2 + 8))
    g.call("probe_read_kernel", g.address(memory), words, zeros)


def copyin(g: Generation, e: tree.Call) -> Operand:
    """copyin(address, size): a copy of the process's memory, with zeros up to the end of its last word: what an earlier
    firing has left there would be read as part of it."""
    source = Remote(g.value(e.arguments[0]), 0, user=True)
    size = g.value(e.arguments[1])
    address, memory = allocate(g, size)
    if not isinstance(size, Imm):
        _zero_words(g, memory, size)
    elif size.value % _WORD:
        g.b.store(memory.base, memory.offset + (size.value & -_WORD), _WORD, Imm(0))
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


def copyout(g: Generation, e: tree.Call) -> Operand:
    """copyout(source, address, size): into the memory of the process."""
    source = _source(g, e.arguments[0])
    target, size = g.value(e.arguments[1]), g.value(e.arguments[2])
    most = size_of_region(g)
    if isinstance(source, Memory):
        most = g.shared.settings.string_capacity
    elif source.scratch:
        source = span(g, source, size)
    fault_if(g, "gt", size, Imm(most), BAD_SIZE, size)
    if isinstance(source, Remote):
        copy = g.temporary(2 * most + 8)
        fetch_unchecked(g, source, copy, bounded(g, size))
        source = copy
    _write(g, target, source, size, most)
    return Imm(0)


def copyoutstr(g: Generation, e: tree.Call) -> Operand:
    """copyoutstr(string, address, size): its characters and a NUL, at most so many bytes; cut, it has no NUL."""
    text, capacity = characters(g, e.arguments[0])
    target = g.value(e.arguments[1])
    size = g.value(e.arguments[2])
    copy = g.temporary(capacity)
    got = g.call("probe_read_kernel_str", g.argument_of(copy.base, copy.offset), Imm(capacity), g.address(text))
    length = g.b.copy(got)
    # Nothing is written of what cannot be read. Verifiers before Linux 6.8 take even its length, a negative error, to
    # the write, where they are not led around it.
    with g.b.when("sgt", length, Imm(0)):
        with g.b.when("gt", length, size):
            g.b.move(length, size)
        _write(g, target, copy, length, capacity)
    return Imm(0)


def _write(g: Generation, target: Operand, source: Memory, size: Operand, most: int) -> None:
    """From 1 to `most` bytes, otherwise nothing. A NULL address, and one that cannot be written to, is a fault."""
    fault_if(g, "eq", target, Imm(0), BAD_ADDRESS, target)
    length = g.b.in_register(size)
    end = g.b.label()
    g.b.branch("lt", length, Imm(1), end)
    g.b.branch("gt", length, Imm(most), end)
    result = g.call("probe_write_user", target, g.argument_of(source.base, source.offset), length)
    fault_if(g, "slt", result, Imm(0), BAD_ADDRESS, target)
    g.b.place(end)


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
        characters_into(g, e, text, size)
        return text
    place = pointer_place(g, e)
    return place if isinstance(place, Remote) else Remote(source_of(g, place), 0)


def _aside(g: Generation, source: Memory, size: Operand) -> Memory:
    """A copy for as long as the statement: the helper that copies does not mind whether the two overlap."""
    region = size_of_region(g)
    copy = g.temporary(2 * region + 8)
    g.call("probe_read_kernel", g.argument_of(copy.base, copy.offset), size, g.address(source))
    return copy
