"""json(): a part of a text in JSON."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.strings import store_null
from sonde.codegen.intermediate.ir import Imm
from sonde.codegen.routines import json_values as routine
from sonde.codegen.subroutines.results import argument_in, get, layout, moved, part_into, put, routine_name
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
    missing, there, end = g.b.label(), g.b.label(), g.b.label()
    start = get(g, work, routine.START)
    g.b.branch("slt", start, Imm(0), missing, there)
    g.b.place(missing)
    store_null(g, memory, size)
    g.b.jump(end)
    g.b.place(there)
    part_into(g, text, start, g.b.alu("sub", get(g, work, routine.END), start), memory, size)
    g.b.place(end)
