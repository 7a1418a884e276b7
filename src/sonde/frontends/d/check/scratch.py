"""Variables that hold pointers into scratch memory (`model/scratch.py`).

A variable holds one sort of pointer or the other for the whole program, so that each access knows what memory it
reaches.
"""

from __future__ import annotations

from collections.abc import Mapping

from sonde.frontends.d.check.operands import is_zero
from sonde.frontends.d.errors import DError
from sonde.model.kinds import is_pointer
from sonde.model.program import Cast, Conditional, Element, Expr, Var
from sonde.model.scratch import is_scratch


def _is_null(expression: Expr) -> bool:
    while isinstance(expression, Cast):
        expression = expression.operand
    return is_zero(expression)


def _mixes(expression: Expr, variables: Mapping[int, bool]) -> bool:
    """A choice between a scratch pointer and another one."""
    while isinstance(expression, Cast):
        expression = expression.operand
    if not isinstance(expression, Conditional):
        return False
    branches = [b for b in (expression.then, expression.otherwise) if not _is_null(b)]
    return len({is_scratch(b, variables) for b in branches}) > 1


def record_assignment(target: Expr, value: Expr, variables: dict[int, bool]) -> None:
    """Note what sort of pointer a variable gets, and refuse a second sort; NULL belongs to both."""
    if not isinstance(target, (Var, Element)) or not is_pointer(value.type) or _is_null(value):
        return
    if _mixes(value, variables):
        text = "ternary conditional with alloca and non-alloca branches cannot be assigned to a variable"
        raise DError("D_ALLOCA_INCOMPAT", text, value.position)
    _record(target, is_scratch(value, variables), variables)


def record_increment(target: Expr, variables: dict[int, bool]) -> None:
    """A variable that first appears under `++` or `--` holds no scratch pointer."""
    if isinstance(target, (Var, Element)):
        _record(target, variables.get(target.variable.id, False), variables)


def _record(target: Var | Element, scratch: bool, variables: dict[int, bool]) -> None:
    if variables.setdefault(target.variable.id, scratch) != scratch:
        text = f"{target.variable.name}: cannot reuse the same identifier for both alloca and non-alloca allocations"
        raise DError("D_ALLOCA_INCOMPAT", text, target.position)
