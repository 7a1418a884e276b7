"""json(): a part of a text in JSON."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.routines import json_values as routine
from sonde.codegen.subroutines.results import argument_in, layout, moved, part_if_found, put, routine_name
from sonde.model import program as tree


def json(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """The value that the path leads to: what is between the quotes of a string, else the text as it stands there."""
    require_loops(g, f"{e.name}()", e.position)
    capacity = layout(g).capacity
    work = g.framed(routine.size(capacity))
    text = moved(work, routine.first(capacity))
    put(g, work, routine.LENGTH, argument_in(g, e.arguments[0], text))
    put(g, work, routine.PATH_LENGTH, argument_in(g, e.arguments[1], moved(work, routine.second(capacity))))
    g.routine(routine_name(g, "json"), g.address(work))
    part_if_found(g, text, work, (routine.START, routine.END), memory, size)
