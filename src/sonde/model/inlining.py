"""Functions of a program, whose statements take the place of each call.

Parameters and result are variables of the clause, which a front end has set before and looks at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.model.errors import Position
from sonde.model.program import Each, If, Inlined, Loop, Return, Statement


def inlined(position: Position, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """What a call at the place becomes: the statements themselves where they return at their end alone."""
    if body and isinstance(body[-1], Return) and body[-1].of_function:
        body = body[:-1]
    return (Inlined(position, body),) if returns(body) else body


def returns(statements: Iterable[Statement]) -> bool:
    """Whether any of the statements ends the function that they belong to."""
    return any(map(_returns, statements))


def _returns(statement: Statement) -> bool:
    if isinstance(statement, If):
        return returns(statement.then) or returns(statement.otherwise)
    if isinstance(statement, (Loop, Each)):
        return returns(statement.body)
    return isinstance(statement, Return) and statement.of_function
