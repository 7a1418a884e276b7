"""Paths: their last component, and their shortest form."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.work import Work, at, get, put, repeat, step_of_loop, stop_if

LENGTH, START, END, BEFORE = range(0, 32, 8)
"""Of `last_component`: the length, set by the caller; where the last component begins (-1 if there is none) and ends,
and where the one before it ends."""

_AFTER_SLASH = 32

_SLASH, _DOT = ord("/"), ord(".")


def last_component(name: str, capacity: int) -> BpfFunction:
    """(work): find the last component of the first text."""
    b = Builder(name)
    work = b.function.parameters[0]
    put(b, work, START, Imm(-1))
    put(b, work, END, Imm(0))
    put(b, work, BEFORE, Imm(0))
    put(b, work, _AFTER_SLASH, Imm(1))
    repeat(b, f"component_{capacity}", get(b, work, LENGTH), work)
    b.ret(Imm(0))
    return b.function


def component(name: str, capacity: int) -> BpfFunction:
    """One character of `last_component`."""
    b, index, work = step_of_loop(name)
    stop_if(b, "ge", index, Imm(capacity))
    character = b.load(at(b, work, Work(capacity).first, index), 0, 1)
    with b.when("eq", character, Imm(_SLASH)):
        put(b, work, _AFTER_SLASH, Imm(1))
        b.ret(Imm(0))
    with b.when("ne", get(b, work, _AFTER_SLASH), Imm(0)):
        put(b, work, START, index)
        put(b, work, BEFORE, get(b, work, END))
        put(b, work, _AFTER_SLASH, Imm(0))
    put(b, work, END, b.alu("add", index, Imm(1)))
    b.ret(Imm(0))
    return b.function


_READ, WRITTEN, _KEPT, _MODE, _ROOT = range(8, 48, 8)
"""Of `clean_path`: characters read and written, how many of these ".." must not take back, what is being done, and 1
for a path that begins with a slash."""

_BETWEEN, _COPYING, _GOING_BACK = range(3)


def clean_path(name: str, capacity: int) -> BpfFunction:
    """(work): the second text becomes the first one's path without empty components, "." and what ".." undoes."""
    b = Builder(name)
    work = b.function.parameters[0]
    layout = Work(capacity)
    root = b.truth("eq", b.load(work, layout.first, 1), Imm(_SLASH))
    for word in (_READ, WRITTEN, _KEPT, _ROOT):
        put(b, work, word, root)
    put(b, work, _MODE, Imm(_BETWEEN))
    b.store(work, layout.second, 1, Imm(_SLASH))
    repeat(b, f"clean_{capacity}", Imm(4 * capacity), work)
    with b.when("eq", get(b, work, WRITTEN), Imm(0)):
        b.store(work, layout.second, 1, Imm(_DOT))
        put(b, work, WRITTEN, b.truth("ne", get(b, work, LENGTH), Imm(0)))
    b.ret(Imm(0))
    return b.function


def clean(name: str, capacity: int) -> BpfFunction:
    """One step of `clean_path`: a character to copy or to take back, or what comes between two components."""
    b, _, work = step_of_loop(name)
    layout = Work(capacity)
    written, read = get(b, work, WRITTEN), get(b, work, _READ)
    stop_if(b, "gt", written, Imm(capacity))
    stop_if(b, "ge", read, Imm(capacity))
    back, forth, copying, between = b.label(), b.label(), b.label(), b.label()
    mode = get(b, work, _MODE)
    b.branch("eq", mode, Imm(_GOING_BACK), back, forth)
    b.place(back)
    _go_back(b, work, layout, written)
    b.place(forth)
    word = b.load(at(b, work, layout.first, read), 0, 8)
    character = b.alu("and", word, Imm(0xFF))
    stop_if(b, "eq", character, Imm(0))
    put(b, work, _READ, b.alu("add", read, Imm(1)))
    with b.when("eq", character, Imm(_SLASH)):
        put(b, work, _MODE, Imm(_BETWEEN))
        b.ret(Imm(0))
    b.branch("eq", mode, Imm(_COPYING), copying, between)
    b.place(copying)
    _write(b, work, layout, written, character)
    b.ret(Imm(0))
    b.place(between)
    _begin(b, work, layout, written, read, word)
    return b.function


def _write(b: Builder, work: Reg, layout: Work, written: Operand, *characters: Operand) -> None:
    place = at(b, work, layout.second, written)
    for number, character in enumerate(characters):
        b.store(place, number, 1, character)
    put(b, work, WRITTEN, b.alu("add", written, Imm(len(characters))))


def _go_back(b: Builder, work: Reg, layout: Work, written: Reg) -> None:
    """Take back one character, up to the slash before a component."""
    done = b.label()
    b.branch("le", written, get(b, work, _KEPT), done)
    b.branch("eq", b.load(at(b, work, layout.second, written), 0, 1), Imm(_SLASH), done)
    put(b, work, WRITTEN, b.alu("sub", written, Imm(1)))
    b.ret(Imm(0))
    b.place(done)
    put(b, work, _MODE, Imm(_BETWEEN))
    b.ret(Imm(0))


def _begin(b: Builder, work: Reg, layout: Work, written: Reg, read: Reg, word: Operand) -> None:
    """The first character of a component that is not empty; `word` has the characters from it on."""
    ordinary, dot, up, single = b.label(), b.label(), b.label(), b.label()
    b.branch("ne", b.alu("and", word, Imm(0xFF)), Imm(_DOT), ordinary)
    second = b.alu("and", b.alu("rsh", word, Imm(8)), Imm(0xFF))
    third = b.alu("and", b.alu("rsh", word, Imm(16)), Imm(0xFF))
    b.branch("eq", second, Imm(0), single)
    b.branch("eq", second, Imm(_SLASH), single)
    b.branch("ne", second, Imm(_DOT), ordinary)
    b.branch("eq", third, Imm(0), up)
    b.branch("eq", third, Imm(_SLASH), up, ordinary)
    b.place(single)
    b.ret(Imm(0))
    b.place(up)
    put(b, work, _READ, b.alu("add", read, Imm(2)))
    _go_up(b, work, layout, written)
    b.place(ordinary)
    put(b, work, _MODE, Imm(_COPYING))
    put(b, work, _READ, read)
    b.branch("eq", written, get(b, work, _ROOT), dot)
    _write(b, work, layout, written, Imm(_SLASH))
    b.place(dot)
    b.ret(Imm(0))


def _go_up(b: Builder, work: Reg, layout: Work, written: Reg) -> None:
    """A component "..": it takes back the one before, is nothing at the root, and stays where there is none."""
    stays = b.label()
    b.branch("le", written, get(b, work, _KEPT), stays)
    put(b, work, WRITTEN, b.alu("sub", written, Imm(1)))
    put(b, work, _MODE, Imm(_GOING_BACK))
    b.ret(Imm(0))
    b.place(stays)
    with b.when("ne", get(b, work, _ROOT), Imm(0)):
        b.ret(Imm(0))
    first = b.label()
    b.branch("eq", written, Imm(0), first)
    _write(b, work, layout, written, Imm(_SLASH), Imm(_DOT), Imm(_DOT))
    put(b, work, _KEPT, get(b, work, WRITTEN))
    b.ret(Imm(0))
    b.place(first)
    _write(b, work, layout, written, Imm(_DOT), Imm(_DOT))
    put(b, work, _KEPT, get(b, work, WRITTEN))
    b.ret(Imm(0))
