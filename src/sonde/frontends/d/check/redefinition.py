"""Names may be declared twice only if both declarations say the same."""

from __future__ import annotations

from sonde.frontends.d.check.builtins import ARRAYS
from sonde.frontends.d.check.builtins import NAMES as BUILTINS
from sonde.frontends.d.check.prototypes import NAMES as FUNCTIONS
from sonde.frontends.d.check.prototypes import kind_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import compatible, spell
from sonde.model.types import LONG, Type


def redeclared(name: str, current: str, previous: str, position: Position) -> DError:
    text = f"identifier redeclared: {name}\n\t current: {current}\n\tprevious: {previous}"
    return DError("D_DECL_IDRED", text, position)


def refuse_inline(name: str, scope: Scope, position: Position) -> None:
    """Raise if something global has the name of an inline definition."""
    previous = _existing(name, scope)
    if previous is not None:
        text = f"identifier redefined: {name}\n\t current: inline definition\n\tprevious: {previous}"
        raise DError("D_DECL_IDRED", text, position)


def _existing(name: str, scope: Scope) -> str | None:
    inline = scope.find_inline(name)
    if inline is not None or name == "NULL":
        return f"{_kind(inline is not None and inline.parameters is not None)} inline"
    if name in FUNCTIONS or name in scope.functions:
        return f"{kind_of(name) if name in FUNCTIONS else 'function'} "
    variable = scope.variables.get(("global", name))
    if name in BUILTINS or variable is not None:
        return f"{_kind(name in ARRAYS or (variable is not None and variable.keys is not None))} "
    return None


def _kind(is_array: bool) -> str:
    return "associative array" if is_array else "scalar"


def refuse_variable(name: str, kind: Type, scope: Scope, position: Position) -> None:
    """Raise if the name of a global variable means something else."""
    if name in BUILTINS or name in FUNCTIONS:
        raise DError("D_DECL_IDRED", f"built-in identifier redeclared: {name}", position)
    if name in scope.typedefs:
        raise DError("D_DECL_IDRED", f"typedef identifier redeclared: {name}", position)
    inline = scope.find_inline(name)
    if inline is not None or name == "NULL":
        is_array = inline is not None and inline.parameters is not None
        previous = f"{_kind(is_array)} {spell(inline.type if inline is not None else LONG)}"
        raise redeclared(name, f"scalar {spell(kind)}", previous, position)
    if name in scope.enumerators:
        raise redeclared(name, f"scalar {spell(kind)}", f"scalar {spell(scope.enumerators[name][0])}", position)


def repeats(name: str, where: str, kind: Type, keys: tuple[Type, ...] | None, scope: Scope, position: Position) -> bool:
    """True if a variable of that name is declared with the same type already; raises if with another."""
    known = scope.variables.get((where, name))
    if known is None:
        return False
    if not compatible(known.type, kind) or (known.keys is None) != (keys is None):
        current = f"{_kind(keys is not None)} {spell(kind)}"
        raise redeclared(name, current, f"{_kind(known.keys is not None)} {spell(known.type)}", position)
    _require_same_keys(name, kind, keys or (), known.keys or (), position)
    return True


def _require_same_keys(
    name: str, kind: Type, keys: tuple[Type, ...], known: tuple[Type, ...], position: Position
) -> None:
    for number, (current, previous) in enumerate(zip(keys, known, strict=False), 1):
        if not compatible(current, previous):
            of = f"associative array, key #{number} of type"
            raise redeclared(name, f"{of} {spell(current)}", f"{of} {spell(previous)}", position)
    if len(keys) != len(known):
        of = f"associative array of {spell(kind)}, tuple length"
        raise redeclared(name, f"{of} {len(keys)}", f"{of} {len(known)}", position)
