"""Which function generates the string of which kind of node."""

from __future__ import annotations

from sonde.codegen.expressions import strings
from sonde.codegen.place_handlers import PLACES
from sonde.codegen.subroutines import calls
from sonde.model import program as tree
from sonde.typed import Any

STRINGS: dict[type, Any] = {
    **dict.fromkeys(PLACES, strings.variable),
    tree.StringConst: strings.constant,
    tree.Builtin: strings.builtin,
    tree.Conditional: strings.conditional,
    tree.Cast: strings.cast,
    tree.Assign: strings.assignment,
    tree.Comma: strings.assignment,
    tree.Call: lambda g, e, into, size: calls.string(g, e, into, size),
}
