"""Derived probes: those that fire when another probe does, and see its arguments through expressions of D.

A clause for such a probe is checked as if `arg0` and `args[0]` had been written as the expressions that the catalog
gives for them. In these `args[]` is that of the probe underneath. What they depend on, clauses and variables of their
own, is part of the program but never seen; variables of this kind have names that begin with two underscores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sonde.frontends.d.check import casts
from sonde.frontends.d.check.operands import value_of
from sonde.frontends.d.check.scope import Enabling, Scope
from sonde.frontends.d.errors import DError
from sonde.frontends.d.parser import parse_expression
from sonde.model.catalog import Derivation
from sonde.model.errors import Position
from sonde.model.kinds import compatible
from sonde.model.probe import Probe, StaticPattern
from sonde.model.program import Builtin, Call, Const, Expr
from sonde.model.types import INT, STRING, Pointer, Struct, Type, resolve

HIDDEN = "<hidden>"
"""The file that what a program depends on, and did not write, is said to be in."""

Part = tuple[tuple[Probe, ...], Derivation | None]


def parts(probes: Sequence[Probe], scope: Scope) -> list[Part]:
    """The probes of one description as they must be checked: derived ones each alone, once for each of those that they
    follow from; what stands for static probes of all processes alone; all others together."""
    awaited = tuple(probe for probe in probes if isinstance(probe.firing, StaticPattern))
    if awaited:
        rest = tuple(probe for probe in probes if probe not in awaited)
        return [*(parts(rest, scope) if rest else ()), (awaited, None)]
    found = [(probe, scope.catalog.derivations(probe)) for probe in probes]
    plain = tuple(probe for probe, derivations in found if not derivations)
    alone: list[Part] = [
        ((probe._replace(firing=derivation.source.firing),), derivation)
        for probe, derivations in found
        for derivation in derivations
    ]
    return [(plain, None), *alone] if plain or not alone else alone


def together(own: tuple[Probe, ...], probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """Those of a description's probes whose arguments a clause for some of them must fit."""
    if all(isinstance(probe.firing, StaticPattern) for probe in own):
        return own
    return tuple(probe for probe in probes if not isinstance(probe.firing, StaticPattern))


def condition(scope: Scope, position: Position) -> Expr | None:
    """Under which condition the probe fires that the clause being checked is for."""
    derivation = scope.enabling.derivation if scope.enabling else None
    if derivation is None:
        return None
    for text in derivation.before:
        scope.require(text)
    return _evaluate(derivation.condition, derivation, scope, position) if derivation.condition else None


def argument(number: int, native: Type, derivation: Derivation, scope: Scope, position: Position) -> Expr:
    """The probe's native argument of that number.

    A pointer to a structure remains what it is: a probe of several tracepoints may have one to another for each.
    """
    value = _evaluate(derivation.values[number], derivation, scope, position)
    is_own = _points_to_structure(value.type) and _points_to_structure(native)
    if is_own or compatible(native, value.type):
        return value

    return casts.cast(native, value, position)


def _points_to_structure(kind: Type) -> bool:
    base = resolve(kind)
    return isinstance(base, Pointer) and isinstance(resolve(base.to), Struct)


def builtin(name: str, kind: Type, scope: Scope, position: Position) -> Expr | None:
    """What stands for the built-in variable of that name, None where that is itself."""
    if name == "probeprov" and scope.enabling is not None and scope.enabling.is_awaited:
        # One probe serves all processes, whose providers end with their numbers.
        process = Call(STRING, position, "lltostr", (Builtin(INT, position, "pid"),))
        return Call(STRING, position, "strjoin", (Builtin(kind, position, name), process))
    derivation = scope.enabling.derivation if scope.enabling else None
    if derivation is None or not (name.startswith("arg") and name[3:].isdigit()):
        return None
    number = int(name[3:])
    require_known(number, name, scope, position)
    if number >= len(derivation.values):
        return Const(kind, position, 0)

    return casts.cast(kind, _evaluate(derivation.values[number], derivation, scope, position), position)


def require_known(number: int, name: str, scope: Scope, position: Position) -> None:
    """Refuse an argument that the probe has elsewhere, but nobody knows here. Raises DError."""
    derivation = scope.enabling.derivation if scope.enabling else None
    if scope.enabling is not None and derivation is not None and len(derivation.values) <= number < derivation.most:
        what = f"{name} of {scope.enabling.text}"
        text, remedy = scope.catalog.lacks("argument", what)
        raise DError("D_UNAVAIL", text or f"{what} is not known to this kernel", position, remedy)


@contextmanager
def aside(scope: Scope, enabling: Enabling | None = None) -> Iterator[None]:
    """Within the `with` block the scope is that of something else than the clause being checked."""
    outer, bindings, was_aside = scope.enabling, scope.bindings, scope.is_aside
    scope.enabling, scope.bindings, scope.is_aside = enabling, {}, True
    try:
        yield
    finally:
        scope.enabling, scope.bindings, scope.is_aside = outer, bindings, was_aside


def _evaluate(text: str, derivation: Derivation, scope: Scope, position: Position) -> Expr:
    return evaluate(text, Enabling((derivation.source,), str(derivation.source)), scope, position)


def evaluate(text: str, enabling: Enabling | None, scope: Scope, position: Position) -> Expr:
    """The value of an expression that the program did not write; what is wrong with it is so at `position`."""
    with aside(scope, enabling):
        try:
            node = parse_expression(text, is_type_name=scope.is_type_name)
            return value_of(scope.evaluate(node, scope))
        except DError as error:
            raise DError(error.tag, error.text, position) from None
