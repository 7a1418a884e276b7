"""Which function generates which kind of node."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.codegen.basis.generation import Generation, Handlers
from sonde.codegen.basis.places import HeldInRegister, Memory, Remote, Trusted
from sonde.codegen.expressions import integers
from sonde.codegen.expressions.access import plain
from sonde.codegen.intermediate.ir import Operand
from sonde.codegen.records import actions
from sonde.model import program as tree
from sonde.typed import Any


def _binary(g: Generation, e: tree.Binary) -> Operand:
    from sonde.codegen.expressions import conditions  # the smallest programs do without

    return integers.truth_value(g, e) if conditions.is_condition(e) else integers.binary(g, e)


def _argument(g: Generation, e: tree.Argument) -> Operand:
    typed = g.context.typed_argument(g, e.number, e.type)
    if isinstance(typed, (Memory, Remote, Trusted, HeldInRegister)):
        return integers.from_place(g, e)
    return plain(g, typed) if integers.is_trusted(g, e) else typed


def _builtin(g: Generation, e: tree.Builtin) -> Operand:
    from sonde.codegen.expressions.builtins import value  # as above

    return value(g, e)


def _element(g: Generation, e: tree.Element) -> Operand:
    from sonde.codegen.expressions.variables import element_value  # as above

    return element_value(g, e)


def _call(g: Generation, e: tree.Call) -> Operand:
    from sonde.codegen.subroutines.calls import value  # the subroutines, which many programs do without

    return value(g, e)


def _filled_words(g: Generation, e: tree.FilledWords) -> Operand:
    from sonde.codegen.expressions.byte_arrays import filled_words  # as above

    return filled_words(g, e)


def _stack(g: Generation, e: tree.StackTrace) -> Operand:
    from sonde.codegen.subroutines.calls import stack

    return stack(g, e)


def _assign(g: Generation, e: tree.Assign) -> Operand:
    from sonde.codegen.expressions.assignments import assign  # many programs have no variables

    return assign(g, e)


def _increment(g: Generation, e: tree.Increment) -> Operand:
    from sonde.codegen.expressions.assignments import increment

    return increment(g, e)


def _remove(g: Generation, e: tree.Remove) -> Operand:
    from sonde.codegen.expressions.elements import remove  # few programs have it

    return remove(g, e)


def _holds(g: Generation, e: tree.Holds) -> Operand:
    from sonde.codegen.expressions.elements import holds  # as above

    return holds(g, e)


def _aggregated(g: Generation, e: tree.Aggregated) -> Operand:
    from sonde.codegen.expressions.aggregated import value  # as above

    return value(g, e)


def _count(g: Generation, e: tree.ElementCount) -> Operand:
    from sonde.codegen.expressions.elements import count  # as above

    return count(g, e)


def _probe_variable(g: Generation, e: tree.ProbeVariable) -> Operand:
    from sonde.codegen.expressions.locations import value

    return value(g, e)


_VALUES: dict[type, Any] = {
    tree.Const: integers.constant,
    tree.Var: integers.from_place,
    tree.Element: _element,
    tree.Builtin: _builtin,
    tree.Argument: _argument,
    tree.ProbeVariable: _probe_variable,
    tree.KernelObject: integers.from_place,
    tree.Deref: integers.from_place,
    tree.MemberOf: integers.from_place,
    tree.Index: integers.from_place,
    tree.AddressOf: integers.address,
    tree.Unary: integers.unary,
    tree.Binary: _binary,
    tree.Conditional: integers.conditional,
    tree.Cast: integers.cast,
    tree.Assign: _assign,
    tree.Increment: _increment,
    tree.Comma: integers.comma,
    tree.Call: _call,
    tree.Aggregated: _aggregated,
    tree.Remove: _remove,
    tree.Holds: _holds,
    tree.ElementCount: _count,
    tree.StackTrace: _stack,
    tree.StringConst: integers.string_address,
    tree.FilledWords: _filled_words,
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
    from sonde.codegen.place_handlers import PLACES  # as above

    return PLACES


def _strings() -> Mapping[type, Any]:
    from sonde.codegen.string_handlers import STRINGS  # as above

    return STRINGS


def _conditions() -> Mapping[type, Any]:
    from sonde.codegen.expressions.conditions import HANDLERS  # as above

    return HANDLERS


HANDLERS = Handlers(_VALUES, _places, _strings, _conditions, _STATEMENTS)
