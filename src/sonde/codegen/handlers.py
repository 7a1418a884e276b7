"""Which function generates which kind of node."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.codegen import place_handlers, string_handlers
from sonde.codegen.basis.generation import Generation, Handlers
from sonde.codegen.basis.places import HeldInRegister, Memory, Remote, Trusted
from sonde.codegen.expressions import (
    aggregated,
    assignments,
    builtins,
    byte_arrays,
    conditions,
    elements,
    integers,
    locations,
    variables,
)
from sonde.codegen.expressions.access import plain
from sonde.codegen.intermediate.ir import Operand
from sonde.codegen.records import actions
from sonde.codegen.subroutines import calls
from sonde.model import program as tree
from sonde.typed import Any


def _binary(g: Generation, e: tree.Binary) -> Operand:
    return integers.truth_value(g, e) if conditions.is_condition(e) else integers.binary(g, e)


def _argument(g: Generation, e: tree.Argument) -> Operand:
    typed = g.context.typed_argument(g, e.number, e.type)
    if isinstance(typed, (Memory, Remote, Trusted, HeldInRegister)):
        return integers.from_place(g, e)
    return plain(g, typed) if integers.is_trusted(g, e) else typed


_VALUES: dict[type, Any] = {
    tree.Const: integers.constant,
    tree.Var: integers.from_place,
    tree.Element: lambda g, e: variables.element_value(g, e),
    tree.Builtin: lambda g, e: builtins.value(g, e),
    tree.Argument: _argument,
    tree.ProbeVariable: lambda g, e: locations.value(g, e),
    tree.KernelObject: integers.from_place,
    tree.Deref: integers.from_place,
    tree.MemberOf: integers.from_place,
    tree.Index: integers.from_place,
    tree.AddressOf: integers.address,
    tree.Unary: integers.unary,
    tree.Binary: _binary,
    tree.Conditional: integers.conditional,
    tree.Cast: integers.cast,
    tree.Assign: lambda g, e: assignments.assign(g, e),
    tree.Increment: lambda g, e: assignments.increment(g, e),
    tree.Comma: integers.comma,
    tree.Call: lambda g, e: calls.value(g, e),
    tree.Aggregated: lambda g, e: aggregated.value(g, e),
    tree.Remove: lambda g, e: elements.remove(g, e),
    tree.Holds: lambda g, e: elements.holds(g, e),
    tree.ElementCount: lambda g, e: elements.count(g, e),
    tree.StackTrace: lambda g, e: calls.stack(g, e),
    tree.StringConst: integers.string_address,
    tree.FilledWords: lambda g, e: byte_arrays.filled_words(g, e),
}

_STATEMENTS: dict[type, Any] = {
    tree.Evaluate: actions.evaluate,
    tree.Aggregate: actions.aggregate,
    tree.Trace: actions.trace,
    tree.Printf: actions.formatted,
    tree.FormattedCommand: actions.formatted,
    tree.Print: actions.print_,
    tree.Printa: actions.printa,
    tree.Show: actions.show,
    tree.Tracemem: actions.tracemem,
    tree.Exit: actions.exit_,
    tree.Clear: actions.on_aggregation,
    tree.Trunc: actions.on_aggregation,
    tree.Empty: actions.on_aggregation,
    tree.Normalize: actions.on_aggregation,
    tree.SetOption: actions.set_option,
    tree.Act: actions.act,
}


def _places() -> Mapping[type, Any]:
    return place_handlers.PLACES


def _strings() -> Mapping[type, Any]:
    return string_handlers.STRINGS


def _conditions() -> Mapping[type, Any]:
    return conditions.HANDLERS


HANDLERS = Handlers(_VALUES, _places, _strings, _conditions, _STATEMENTS)
