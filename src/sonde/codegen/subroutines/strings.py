"""Subroutines that take the length or a part of a string, join two, or read one from a process."""

from __future__ import annotations

from sonde.codegen.basis.faults import BAD_INDEX, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory, Remote
from sonde.codegen.expressions.access import zero
from sonde.codegen.expressions.resident import read_user, require_read
from sonde.codegen.expressions.strings import characters, copy_characters, limit, read, string_length
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.characters import LENGTH as CASE_LENGTH
from sonde.codegen.subroutines.results import argument_in, get, layout, moved, part_into, put, routine_name
from sonde.model import program as tree


def strlen(g: Generation, e: tree.Call) -> Operand:
    text = e.arguments[0]
    if isinstance(text, tree.StringConst):
        return Imm(min(len(text.value.split(b"\0")[0]), g.shared.settings.strsize))
    with g.released():
        return string_length(g, *characters(g, text))


def copyinstr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The size, where it is given, counts the NUL; one below 1 counts as 1."""
    address = g.value(e.arguments[0])
    most = g.value(e.arguments[1]) if len(e.arguments) > 1 else Imm(size)
    if isinstance(most, Imm):
        read(g, Remote(address, 0, True), memory, size, max(most.value - 1, 0))
        return
    zero(g, memory, size)
    bounded = g.b.copy(most)
    with g.b.when("slt", bounded, Imm(1)):
        g.b.move(bounded, Imm(1))
    with g.b.when("gt", bounded, Imm(limit(g, size))):
        g.b.move(bounded, Imm(limit(g, size)))
    require_read(g, read_user(g, "probe_read_user_str", memory, bounded, address), address)


def strjoin(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The second string is put behind the first in memory for both, then what fits is taken."""
    first, first_size = characters(g, e.arguments[0])
    second, second_size = characters(g, e.arguments[1])
    whole = g.temporary(max(first_size + second_size, size))
    zero(g, whole, max(first_size + second_size, size))
    length = copy_characters(g, first, first_size, whole)
    end = g.b.label()
    g.b.branch("gt", length, Imm(first_size), end)
    behind = g.b.in_register(g.b.alu("add", g.address(whole), length))
    g.call("probe_read_kernel_str", behind, Imm(second_size), g.address(second))
    g.b.place(end)
    g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), Imm(size), g.address(whole))
    _cut(g, memory, size)


def _cut(g: Generation, memory: Memory, size: int) -> None:
    """Keep a string to strsize characters, zeros to the end."""
    for offset in range(limit(g, size) - 1, size):
        g.b.store(memory.base, memory.offset + offset, 1, Imm(0))


def substr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """substr(s, start[, length]): a negative start counts from the end, a negative length stops before the end.

    A start before the beginning is the beginning, but for a negative length, which then gives nothing."""
    source, source_size = characters(g, e.arguments[0])
    start = g.value(e.arguments[1])
    text = g.temporary(source_size)
    first, count = _range(g, e, start, copy_characters(g, source, source_size, text))
    part_into(g, text, first, count, memory, size)


def rest(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """s + n: the rest of a string from a character on, nothing behind its end; what lies outside of any string that
    there can be is an index out of bounds."""
    source, source_size = characters(g, e.arguments[0])
    start = g.value(e.arguments[1])
    fault_if(g, "gt", start, Imm(g.shared.settings.strsize), BAD_INDEX, start)
    text = g.temporary(source_size)
    total = copy_characters(g, source, source_size, text)
    first = g.b.choose("gt", start, total, lambda: total, lambda: start)
    part_into(g, text, first, g.b.alu("sub", total, first), memory, size)


def _range(g: Generation, e: tree.Call, start: Operand, total: Operand) -> tuple[Operand, Operand]:
    """First character and number of characters, within a string of `total`."""
    first = g.b.copy(start)
    with g.b.when("slt", first, Imm(0)):
        g.b.move(first, g.b.alu("add", first, total))
    end = g.b.copy(total)
    if len(e.arguments) > 2:
        length = g.value(e.arguments[2])

        def before_end() -> Operand:
            return g.b.choose("slt", first, Imm(0), lambda: Imm(0), lambda: g.b.alu("add", total, length))

        g.b.move(end, g.b.choose("slt", length, Imm(0), before_end, lambda: g.b.alu("add", first, length)))
    with g.b.when("slt", first, Imm(0)):
        g.b.move(first, Imm(0))
    with g.b.when("sgt", end, total):
        g.b.move(end, total)
    count = g.b.choose("sgt", end, first, lambda: g.b.alu("sub", end, first), lambda: Imm(0))
    return first, count


def toupper(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """Capital letters for small ones."""
    _in_case(g, e, "upper", memory, size)


def tolower(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """Small letters for capital ones."""
    _in_case(g, e, "lower", memory, size)


def _in_case(g: Generation, e: tree.Call, case: str, memory: Memory, size: int) -> None:
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(layout(g).size)
    text = moved(work, layout(g).first)
    put(g, work, CASE_LENGTH, argument_in(g, e.arguments[0], text))
    g.routine(routine_name(g, case), g.address(work))
    part_into(g, text, Imm(0), get(g, work, CASE_LENGTH), memory, size)
