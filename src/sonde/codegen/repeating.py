"""Which statements of a clause may be done again where it goes on after it was broken off (`deferral.py`).

A clause that needs a page of the process that is not in memory is begun once more when the page is there. What it has
recorded by then was given back, and its own variables are forgotten: that has to be done again. What it has counted,
assigned or sent must not. So a statement is *repeated* or *done once*; where the two cannot be told apart, the clause
goes on from no statement behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from sonde.codegen.walk import below, nodes
from sonde.lang import program as tree
from sonde.lang.program import Clause, Variable
from sonde.lang.types import Pointer, resolve
from sonde.typed import Any, NamedTuple

_READERS = frozenset({"copyin", "copyinstr", "copyinto", "__command_line"})
"""Subroutines that read the memory of the process."""

_DIFFERENT = frozenset({"rand", "speculation"})
"""Subroutines that give something else each time."""

_WRITERS = frozenset({"copyout", "copyoutstr"})
_SENT = frozenset({"breakpoint", "chill", "panic", "raise", "stop"})
"""Actions that the program itself carries out."""

_SPECULATIVE = frozenset({"commit", "discard", "speculate"})


class Repeating(NamedTuple):
    """For the steps of a clause, by number: those that are done `once`, and the first from which on a fault is `final`:
    the number of steps if there is none."""

    once: frozenset[int]
    final: int


def steps(statements: Sequence[tree.Statement]) -> Iterator[tree.Statement]:
    """The statements in the order of the program, each `if`, which stands for its test, before what is in it. A loop is
    one step."""
    for statement in statements:
        yield statement
        if isinstance(statement, tree.If):
            yield from steps(statement.then)
            yield from steps(statement.otherwise)


def reads_process(clause: Clause) -> bool:
    """Whether the clause may read the memory of the process."""
    return any(map(_reads, nodes(clause)))


def repeating(clause: Clause, kept: Set[Variable]) -> Repeating:
    """`kept` are the clause-local variables that are still known where the clause goes on."""
    if clause.predicate is not None and _changed(clause.predicate, frozenset()):
        return Repeating(frozenset(), 0)
    once: set[int] = set()
    read: set[Variable | None] = set()
    number = -1
    for number, step in enumerate(steps(clause.statements)):
        node = step.test if isinstance(step, tree.If) else step
        changed = _changed(node, kept)
        if not changed:
            read |= _variables(node)
            continue
        if not _is_single(step, kept):
            return Repeating(frozenset(once), number if any(map(_reads, below(node))) else number + 1)
        once.add(number)
        if changed & read:
            return Repeating(frozenset(once), number + 1)
    return Repeating(frozenset(once), number + 1)


def _reads(node: Any) -> bool:
    if isinstance(node, tree.Call):
        return node.name in _READERS
    type_ = getattr(node, "type", None)
    kind = resolve(type_) if type_ is not None else None
    return isinstance(kind, Pointer) and kind.user


def _variables(node: Any) -> set[Variable | None]:
    return {each.variable for each in below(node) if isinstance(each, (tree.Var, tree.Element))}


def _changed(node: Any, kept: Set[Variable]) -> set[Variable | None]:
    """What is changed for good; None stands for all that is no variable. What would give something else if it were done
    again counts as a change."""
    found: set[Variable | None] = set()
    for each in below(node):
        if isinstance(each, (tree.Assign, tree.Increment)):
            root = _root(each.target)
            if isinstance(root, (tree.Var, tree.Element)) and (root.variable.scope != "this" or root.variable in kept):
                found.add(root.variable)
        elif _is_sent(each) or (isinstance(each, tree.Call) and each.name in _DIFFERENT):
            found.add(None)
    return found


def _root(target: tree.Expr) -> tree.Expr:
    while isinstance(target, (tree.MemberOf, tree.Index)):
        target = target.object
    return target


def _is_sent(node: Any) -> bool:
    if isinstance(node, (tree.Aggregate, tree.Exit)):
        return True
    if isinstance(node, tree.Act):
        return node.name in _SENT or node.name in _SPECULATIVE
    return isinstance(node, tree.Call) and node.name in _WRITERS


def _is_single(statement: tree.Statement, kept: Set[Variable]) -> bool:
    """Whether the statement changes one thing, last of all that it does, and records nothing. (A number by rand() that
    is kept in a variable of the clause would be another one.)"""
    if isinstance(statement, tree.Aggregate):
        return not any(isinstance(node, (tree.Assign, tree.Increment)) for node in below(statement))
    if isinstance(statement, tree.Act):
        return statement.name in _SENT
    if not isinstance(statement, tree.Evaluate) or _is_forgotten(statement.expression, kept):
        return False
    return sum(isinstance(node, (tree.Assign, tree.Increment)) or _is_sent(node) for node in below(statement)) == 1


def _is_forgotten(expression: tree.Expr, kept: Set[Variable]) -> bool:
    """Whether it is an assignment to a variable of the clause: done once, it would be unknown where that goes on."""
    if not isinstance(expression, (tree.Assign, tree.Increment)):
        return False
    root = _root(expression.target)
    return isinstance(root, tree.Var) and root.variable.scope == "this" and root.variable not in kept
