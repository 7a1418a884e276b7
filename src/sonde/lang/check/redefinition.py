"""Names may be declared twice only if both declarations say the same."""

from __future__ import annotations

from sonde.lang.check.builtins import NAMES as BUILTINS
from sonde.lang.check.kinds import compatible, spell
from sonde.lang.check.prototypes import NAMES as FUNCTIONS
from sonde.lang.check.scope import Scope
from sonde.lang.errors import DError, Position
from sonde.lang.types import Type


def redefined(name: str, current: str, previous: str, position: Position) -> DError:
    text = f"identifier redefined: {name}\n\t current: {current}\n\tprevious: {previous}"
    return DError("D_DECL_IDRED", text, position)


def refuse_redefinition(name: str, current: str, scope: Scope, position: Position) -> None:
    """Raise if a global of this name exists in any form."""
    previous = _existing(name, scope)
    if previous is not None:
        raise redefined(name, current, previous, position)


def _existing(name: str, scope: Scope) -> str | None:
    if name in FUNCTIONS or name in scope.functions:
        return "function "
    if name in BUILTINS:
        return "built-in variable"
    if scope.find_inline(name) is not None:
        return "inline definition"
    variable = scope.variables.get(("global", name))
    return spell(variable.type) if variable is not None else None


def repeats(name: str, where: str, kind: Type, keys: tuple[Type, ...] | None, scope: Scope, position: Position) -> bool:
    """True if a variable of that name is declared with the same type already; raises if with another."""
    known = scope.variables.get((where, name))
    if known is None:
        return False
    same_keys = known.keys == keys or (
        known.keys is not None
        and keys is not None
        and len(known.keys) == len(keys)
        and all(compatible(a, b) for a, b in zip(known.keys, keys, strict=True))
    )
    if not compatible(known.type, kind) or not same_keys:
        raise redefined(name, spell(kind), spell(known.type), position)
    return True
