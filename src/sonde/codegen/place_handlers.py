"""Which function finds the place of which kind of node."""

from __future__ import annotations

from sonde.codegen.expressions import assignments, byte_arrays, composed, locations, stacks, variables
from sonde.model import program as tree
from sonde.typed import Any

PLACES: dict[type, Any] = {
    tree.Var: variables.variable_place,
    tree.Element: variables.element_place,
    tree.ProbeVariable: lambda g, e: locations.place(g, e),
    tree.KernelObject: variables.object_place,
    tree.Argument: variables.object_place,
    tree.Deref: variables.object_place,
    tree.MemberOf: variables.object_place,
    tree.Index: variables.object_place,
    tree.Assign: lambda g, e: assignments.resulting_place(g, e),
    tree.Comma: lambda g, e: assignments.resulting_place(g, e),
    tree.Conditional: lambda g, e: assignments.resulting_place(g, e),
    tree.Compose: lambda g, e: composed.place(g, e),
    tree.StringConst: lambda g, e: byte_arrays.constant(g, e),
    tree.StackTrace: lambda g, e: stacks.place(g, e),
    tree.ReadBytes: lambda g, e: byte_arrays.read(g, e),
}
