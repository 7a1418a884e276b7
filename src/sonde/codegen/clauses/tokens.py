"""What strtok() goes on with: a text and a place in it, which last over all clauses of a firing."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm
from sonde.codegen.routines import tokens
from sonde.codegen.subroutines.results import get, layout, put


def reserve(g: Generation) -> None:
    """Memory in the frame: one of the program's clauses calls strtok()."""
    g.tokens = g.lasting(tokens.state_size(layout(g).capacity))


def kept_size(g: Generation) -> int:
    """Bytes that a call of strtok() leaves to the next: not the table of delimiters, which each makes."""
    return layout(g).second


def set_up(g: Generation) -> None:
    """There is no text when a firing begins."""
    if g.tokens is not None:
        put(g, g.tokens, tokens.STATE, Imm(0))


def note_start(g: Generation) -> None:
    """From here on the clause may have to begin again: with the token that comes next at this point."""
    if g.tokens is not None:
        if g.token_start is None:
            g.token_start = g.b.register()
        g.b.move(g.token_start, get(g, g.tokens, tokens.POSITION))


def go_back(g: Generation) -> None:
    """To where the clause would begin again."""
    if g.tokens is not None and g.token_start is not None:
        put(g, g.tokens, tokens.POSITION, g.token_start)
