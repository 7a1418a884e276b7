"""Which function generates the string of which kind of node."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions import strings
from sonde.codegen.place_handlers import PLACES
from sonde.model import program as tree
from sonde.typed import Any


def _string_call(g: Generation, e: tree.Expr, into: Memory, size: int) -> None:
    from sonde.codegen.subroutines.calls import string

    string(g, e, into, size)


STRINGS: dict[type, Any] = {
    **dict.fromkeys(PLACES, strings.variable),
    tree.StringConst: strings.constant,
    tree.Builtin: strings.builtin,
    tree.Conditional: strings.conditional,
    tree.Cast: strings.cast,
    tree.Assign: strings.assignment,
    tree.Comma: strings.assignment,
    tree.Call: _string_call,
}
