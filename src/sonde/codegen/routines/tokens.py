"""strtok(): the next run of characters that are no delimiters."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm
from sonde.codegen.routines.work import Work, at, get, put, repeat, step_of_loop, stop_if

STATE, LENGTH, POSITION, START, END = range(0, 40, 8)
"""Words of the state: 0 as long as there is no text, the text's length, where to go on, and the last token's ends."""

_TABLE = 256
"""A byte for each character: 1 for a delimiter. It stands behind the text, where a second one would."""


def state_size(capacity: int) -> int:
    """Bytes that a strtok() remembers from one call to the next, the table of delimiters included."""
    return Work(capacity).second + _TABLE


def token(name: str, capacity: int) -> BpfFunction:
    """(state, delimiters, their number): the index at which the next token of the text begins, -1 if there is none."""
    b = Builder(name, 3)
    state, delimiters, number = b.function.parameters
    for offset in range(0, _TABLE, 8):
        put(b, state, Work(capacity).second + offset, Imm(0))
    repeat(b, f"delimiter_{capacity}", number, state, delimiters)
    put(b, state, START, Imm(-1))
    repeat(b, f"in_token_{capacity}", Imm(capacity + 1), state)
    b.ret(get(b, state, START))
    return b.function


def delimiter(name: str, capacity: int) -> BpfFunction:
    """Enter one delimiter into the table."""
    b, index, state = step_of_loop(name)
    delimiters = b.in_register(b.load(b.function.parameters[1], 8, 8))
    stop_if(b, "ge", index, Imm(capacity))
    character = b.load(at(b, delimiters, 0, index), 0, 1)
    b.store(at(b, state, Work(capacity).second, character), 0, 1, Imm(1))
    b.ret(Imm(0))
    return b.function


def in_token(name: str, capacity: int) -> BpfFunction:
    """Go on by one character, unless it is the delimiter behind the token."""
    b, _, state = step_of_loop(name)
    position = get(b, state, POSITION)
    stop_if(b, "ge", position, get(b, state, LENGTH))
    stop_if(b, "ge", position, Imm(capacity))
    character = b.load(at(b, state, Work(capacity).first, position), 0, 1)
    is_delimiter = b.load(at(b, state, Work(capacity).second, character), 0, 1)
    begins, inside, outside = b.label(), b.label(), b.label()
    following = b.alu("add", position, Imm(1))
    b.branch("ne", is_delimiter, Imm(0), outside)
    b.branch("sge", get(b, state, START), Imm(0), inside, begins)
    b.place(begins)
    put(b, state, START, position)
    b.place(inside)
    put(b, state, END, following)
    put(b, state, POSITION, following)
    b.ret(Imm(0))
    b.place(outside)
    stop_if(b, "sge", get(b, state, START), Imm(0))
    put(b, state, POSITION, following)
    b.ret(Imm(0))
    return b.function
