"""Subroutines that find something in a string: strchr, strrchr, strstr, index, rindex and strtok."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis.faults import BAD_ADDRESS, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.strings import characters, copy_characters, store_null
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines import tokens
from sonde.codegen.routines.searching import FOUND, LENGTH, SOUGHT_LENGTH, START, STEP
from sonde.codegen.subroutines.results import (
    argument_in,
    get,
    layout,
    moved,
    part_if_found,
    part_into,
    put,
    routine_name,
)
from sonde.model import program as tree
from sonde.model.walk import is_zero


def _prepared(g: Generation, e: tree.Call) -> Memory:
    """Working memory with the first argument in it."""
    require_loops(g, f"{e.name}()", e.position)
    work = g.framed(layout(g).size)
    put(g, work, LENGTH, argument_in(g, e.arguments[0], moved(work, layout(g).first)))
    return work


def _seek_string(g: Generation, e: tree.Call, work: Memory) -> None:
    put(g, work, SOUGHT_LENGTH, argument_in(g, e.arguments[1], moved(work, layout(g).second)))


def _seek_character(g: Generation, e: tree.Call, work: Memory) -> None:
    """The NUL can be sought, too: it is behind the characters."""
    character = g.b.alu("and", g.value(e.arguments[1]), Imm(0xFF))
    put(g, work, layout(g).second, character)
    put(g, work, SOUGHT_LENGTH, Imm(1))
    with g.b.when("eq", character, Imm(0)):
        put(g, work, LENGTH, g.b.alu("add", get(g, work, LENGTH), Imm(1)))


def _find(g: Generation, work: Memory, start: Operand, step: int) -> Operand:
    """The index of what is sought, -1 if it is not there. It comes from memory, so the verifier does not follow it."""
    put(g, work, START, start)
    put(g, work, STEP, Imm(step))
    g.routine(routine_name(g, "find"), g.address(work))
    return get(g, work, FOUND)


def _last_start(g: Generation, work: Memory) -> Operand:
    """The last index at which what is sought has room; less than 0 if there is none."""
    return g.b.alu("sub", get(g, work, LENGTH), get(g, work, SOUGHT_LENGTH))


def _rest_into(g: Generation, work: Memory, found: Operand, memory: Memory, size: int) -> None:
    """The text from what was found to its end, NULL if nothing was."""
    missing, there, end = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("slt", found, Imm(0), missing, there)
    g.b.place(missing)
    store_null(g, memory, size)
    g.b.jump(end)
    g.b.place(there)
    count = g.b.alu("sub", get(g, work, LENGTH), found)
    part_into(g, moved(work, layout(g).first), found, count, memory, size)
    g.b.place(end)


def strchr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    work = _prepared(g, e)
    _seek_character(g, e, work)
    _rest_into(g, work, _find(g, work, Imm(0), 1), memory, size)


def strrchr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    work = _prepared(g, e)
    _seek_character(g, e, work)
    _rest_into(g, work, _find(g, work, _last_start(g, work), -1), memory, size)


def strstr(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    work = _prepared(g, e)
    _seek_string(g, e, work)
    _rest_into(g, work, _find(g, work, Imm(0), 1), memory, size)


def index(g: Generation, e: tree.Call) -> Operand:
    """index(s, t[, start]): a start before the beginning is the beginning."""
    return _index(g, e, lambda work: Imm(0), lambda work, start: start, 1)


def rindex(g: Generation, e: tree.Call) -> Operand:
    """rindex(s, t[, start]): found where it begins at `start` or before; nothing begins before the beginning."""

    def bounded(work: Memory, start: Operand) -> Operand:
        last = _last_start(g, work)
        return g.b.choose("slt", start, last, lambda: start, lambda: last)

    return _index(g, e, lambda work: _last_start(g, work), bounded, -1)


def _index(
    g: Generation, e: tree.Call, default: Callable[[Memory], Operand], bounded: Callable[[Memory, Operand], Operand],
    step: int,
) -> Operand:  # fmt: skip
    with g.released():
        work = _prepared(g, e)
        _seek_string(g, e, work)
        start = default(work)
        if len(e.arguments) > 2:
            start = bounded(work, g.value(e.arguments[2]))
        if step > 0:
            start = g.b.choose("slt", start, Imm(0), lambda: Imm(0), lambda: start)
        return _find(g, work, start, step)


# strtok


def strtok(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """strtok(s, delimiters) begins with a text, strtok(NULL, delimiters) goes on with it, at the delimiter."""
    require_loops(g, f"{e.name}()", e.position)
    state = g.tokens
    assert state is not None
    text = moved(state, layout(g).first)
    if is_zero(e.arguments[0]):
        fault_if(g, "eq", get(g, state, tokens.STATE), Imm(0), BAD_ADDRESS, Imm(0))
    else:
        put(g, state, tokens.LENGTH, argument_in(g, e.arguments[0], text))
        put(g, state, tokens.STATE, Imm(1))
        put(g, state, tokens.POSITION, Imm(0))
    delimiters = g.framed(layout(g).capacity)
    number = copy_characters(g, *characters(g, e.arguments[1]), delimiters)
    g.routine(routine_name(g, "token"), g.address(state), g.address(delimiters), g.b.in_register(number))
    part_if_found(g, text, state, (tokens.START, tokens.END), memory, size)
