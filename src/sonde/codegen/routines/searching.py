"""Finding one string in another, from the front or from the back."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.work import Work, at, get, put, repeat, step_of_loop, stop_if

LENGTH, SOUGHT_LENGTH, START, STEP, FOUND = range(0, 40, 8)
"""Words set by the caller, but for the last: the length of the text and of what is sought in it, the index at which to
begin, 1 or -1, and the result."""

_HEAD, _MASK, _PLACE = range(40, 64, 8)
"""The first word of what is sought, which of its bits count, and an index at which it may be."""


def find(name: str, capacity: int) -> BpfFunction:
    """(work): the first index from START on, or the last up to it, at which the second text is in the first; -1 if
    there is none."""
    b = Builder(name)
    work = b.function.parameters[0]
    put(b, work, FOUND, Imm(-1))
    length, sought = get(b, work, LENGTH), get(b, work, SOUGHT_LENGTH)
    absent = b.label()
    b.branch("gt", sought, length, absent)
    mask = b.copy(Imm(-1))
    with b.when("lt", sought, Imm(8)):
        b.move(mask, b.alu("sub", b.alu("lsh", Imm(1), b.alu("lsh", sought, Imm(3))), Imm(1)))
    put(b, work, _MASK, mask)
    put(b, work, _HEAD, b.alu("and", b.load(work, Work(capacity).second, 8), mask))
    repeat(b, f"find_at_{capacity}", Imm(capacity + 1), work)
    b.place(absent)
    b.ret(get(b, work, FOUND))
    return b.function


def find_at(name: str, capacity: int) -> BpfFunction:
    """Compare at one index; the first eight characters decide nearly always."""
    b, number, work = step_of_loop(name)
    place = b.in_register(b.alu("add", get(b, work, START), b.alu("mul", number, get(b, work, STEP))))
    last = b.alu("sub", get(b, work, LENGTH), get(b, work, SOUGHT_LENGTH))
    stop_if(b, "gt", place, last)
    stop_if(b, "gt", place, Imm(capacity))
    here = b.load(at(b, work, Work(capacity).first, place), 0, 8)
    different = b.label()
    b.branch("ne", b.alu("and", here, get(b, work, _MASK)), get(b, work, _HEAD), different)
    put(b, work, _PLACE, place)
    found = b.label()
    b.branch("le", get(b, work, SOUGHT_LENGTH), Imm(8), found)
    put(b, work, FOUND, place)
    repeat(b, f"match_{capacity}", Imm(capacity // 8), work)
    b.branch("slt", get(b, work, FOUND), Imm(0), different)
    b.place(found)
    put(b, work, FOUND, get(b, work, _PLACE))
    b.ret(Imm(1))
    b.place(different)
    b.ret(Imm(0))
    return b.function


def match(name: str, capacity: int) -> BpfFunction:
    """Compare one word of what is sought with the text at _PLACE; where they differ, FOUND becomes -1."""
    layout = Work(capacity)
    b, number, work = step_of_loop(name)
    offset = b.in_register(b.alu("lsh", number, Imm(3)))
    stop_if(b, "ge", offset, get(b, work, SOUGHT_LENGTH))
    stop_if(b, "gt", offset, Imm(capacity))
    place = b.in_register(b.alu("add", get(b, work, _PLACE), offset))
    stop_if(b, "gt", place, Imm(capacity))
    here = b.load(at(b, work, layout.first, place), 0, 8)
    wanted = b.load(at(b, work, layout.second, offset), 0, 8)
    difference = _only(b, b.alu("xor", here, wanted), b.alu("sub", get(b, work, SOUGHT_LENGTH), offset))
    with b.when("ne", difference, Imm(0)):
        put(b, work, FOUND, Imm(-1))
        b.ret(Imm(1))
    b.ret(Imm(0))
    return b.function


def _only(b: Builder, word: Operand, characters: Operand) -> Reg:
    """The word without what stands behind so many characters; they come from its low end."""
    result = b.copy(word)
    with b.when("lt", characters, Imm(8)):
        b.move(result, b.alu("lsh", result, b.alu("sub", Imm(64), b.alu("lsh", characters, Imm(3)))))
    return result
