"""Which function finds the place of which kind of node."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Place
from sonde.codegen.expressions import variables
from sonde.model import program as tree
from sonde.typed import Any


def _stack_place(g: Generation, e: tree.StackTrace) -> Place:
    from sonde.codegen.expressions.stacks import place  # few programs have them

    return place(g, e)


def _resulting_place(g: Generation, e: tree.Expr) -> Place:
    from sonde.codegen.expressions.assignments import resulting_place

    return resulting_place(g, e)


def _composed_place(g: Generation, e: tree.Compose) -> Place:
    from sonde.codegen.expressions.composed import place  # few programs have it

    return place(g, e)


def _constant_bytes(g: Generation, e: tree.StringConst) -> Place:
    from sonde.codegen.expressions.byte_arrays import constant  # few programs have them

    return constant(g, e)


def _read_bytes(g: Generation, e: tree.ReadBytes) -> Place:
    from sonde.codegen.expressions.byte_arrays import read  # as above

    return read(g, e)


def _probe_variable_place(g: Generation, e: tree.ProbeVariable) -> Place:
    from sonde.codegen.expressions.locations import place

    return place(g, e)


PLACES: dict[type, Any] = {
    tree.Var: variables.variable_place,
    tree.Element: variables.element_place,
    tree.ProbeVariable: _probe_variable_place,
    tree.KernelObject: variables.object_place,
    tree.Argument: variables.object_place,
    tree.Deref: variables.object_place,
    tree.MemberOf: variables.object_place,
    tree.Index: variables.object_place,
    tree.Assign: _resulting_place,
    tree.Comma: _resulting_place,
    tree.Conditional: _resulting_place,
    tree.Compose: _composed_place,
    tree.StringConst: _constant_bytes,
    tree.StackTrace: _stack_place,
    tree.ReadBytes: _read_bytes,
}
