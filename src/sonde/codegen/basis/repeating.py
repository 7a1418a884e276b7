"""Which statements of a clause may be done again where it goes on after it was broken off
(`codegen/clauses/deferral.py`).

A clause that needs a page of the process that is not in memory is begun once more when the page is there. The record
that it was writing was given back, and its own variables are forgotten: that has to be done again. What it has counted,
assigned or sent must not. So a statement is *repeated* or *done once*; where the two cannot be told apart, the clause
goes on from no statement behind.

What strtok() has given is had again by going back to the place in its text where the clause would begin again
(`tokens.note_start`); so the text must still be there, or be the first thing that the statements to be repeated bring.
Scratch memory that clauses leave to each other is kept with its contents: what changes it is done once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from sonde.codegen.basis.taking import Tokens, takes_tokens
from sonde.model import program as tree
from sonde.model.program import Clause, Variable
from sonde.model.types import Int, Pointer, resolve
from sonde.model.walk import below, inner, nodes
from sonde.typed import Any, NamedTuple, TypeAlias

_READERS = frozenset({"copyin", "copyinstr", "copyinto", "memstr", "__command_line"})
"""Subroutines that read the memory of the process."""

_DIFFERENT = frozenset({"rand", "speculation"})
"""Subroutines that give something else each time."""

_COPIERS = frozenset({"bcopy", "copyinto"})
_WRITERS = frozenset({"copyout", "copyoutstr"})
_SENT = frozenset({"breakpoint", "chill", "delay", "inject", "override", "panic", "printk", "raise", "stop"})
"""Actions that the program itself carries out."""

_CLOSING = frozenset({"commit", "discard"})


class Repeating(NamedTuple):
    """For the steps of a clause, by number: those that are done `once`, and the first from which on a fault is `final`:
    the number of steps if there is none, -1 if a fault in the predicate is final."""

    once: frozenset[int]
    final: int


NEVER = Repeating(frozenset(), -1)


class _Scratch:
    """Stands for the contents of the scratch memory that is kept, among variables."""


Changeable: TypeAlias = "Variable | type[_Scratch] | None"


def steps(statements: Sequence[tree.Statement]) -> Iterator[tree.Statement]:
    """The statements in the order of the program, each `if`, which stands for its test, before what is in it. A loop is
    one step; a function that is inlined is the steps in it."""
    for statement in statements:
        if isinstance(statement, tree.Inlined):
            yield from steps(statement.body)
            continue
        yield statement
        if isinstance(statement, tree.If):
            yield from steps(statement.then)
            yield from steps(statement.otherwise)


def reads_process(clause: Clause) -> bool:
    """Whether the clause may read the memory of the process."""
    return any(map(_reads, nodes(clause)))


def repeating(clause: Clause, kept: Set[Variable], carried: Set[Variable] = frozenset()) -> Repeating:
    """`kept` are the clause-local variables that are still known where the clause goes on, `carried` those of them that
    point into scratch memory which is kept as well."""
    tokens = Tokens(clause)
    if clause.predicate is not None:
        if not tokens.is_repeatable(clause.predicate):
            return NEVER
        tokens.commit()
        if _changed(clause.predicate, frozenset(), frozenset()):
            return Repeating(frozenset(), 0)
    once: set[int] = set()
    read: set[Changeable] = set()
    number = -1
    for number, step in enumerate(steps(clause.statements)):
        node = step.test if isinstance(step, tree.If) else step
        reads = any(map(_reads, below(node)))
        begun = tokens.are_taken
        if not tokens.is_repeatable(step):
            return Repeating(frozenset(once), number if reads else number + 1)
        changed = _changed(node, kept, carried)
        if not changed:
            read |= _variables(node, carried)
            continue
        if not _is_single(step, kept):
            return Repeating(frozenset(once), number if reads else number + 1)
        once.add(number)
        if changed & read or (begun and takes_tokens(node)):
            return Repeating(frozenset(once), number + 1)
        if takes_tokens(node):
            tokens.commit()
    return Repeating(frozenset(once), number + 1)


_VALUES = (
    tree.Aggregate, tree.Assign, tree.Binary, tree.Comma, tree.Compose, tree.Conditional, tree.Element, tree.Evaluate,
    tree.FormattedCommand, tree.If, tree.Increment, tree.Loop, tree.Print, tree.Printf, tree.Trace, tree.Unary,
)  # fmt: skip
"""What takes a pointer as the number that it is."""


def _reads(node: Any) -> bool:
    """Whether it is this node that reads what a pointer of the process points to."""
    if isinstance(node, tree.Call) and node.name in _READERS:
        return True
    is_number = isinstance(node, tree.Cast) and isinstance(resolve(node.type), (Int, Pointer))
    return not is_number and not isinstance(node, _VALUES) and any(map(_is_of_process, inner(node)))


def _is_of_process(node: Any) -> bool:
    type_ = getattr(node, "type", None)
    kind = resolve(type_) if type_ is not None else None
    return isinstance(kind, Pointer) and kind.user


_LOOKING = (tree.Aggregated, tree.ElementCount, tree.Each)
"""What depends on elements that are no variable's."""


def _variables(node: Any, carried: Set[Variable]) -> set[Changeable]:
    found: set[Changeable] = {each.variable for each in below(node) if isinstance(each, (tree.Var, tree.Element))}
    if any(isinstance(each, _LOOKING) for each in below(node)):
        found.add(None)
    return found | {_Scratch} if found & carried else found


def _changed(node: Any, kept: Set[Variable], carried: Set[Variable]) -> set[Changeable]:
    """What is changed for good; None stands for all that is no variable. What would give something else if it were done
    again counts as a change."""
    found: set[Changeable] = set()
    for each in below(node):
        if isinstance(each, (tree.Assign, tree.Increment)):
            root = _root(each.target)
            if isinstance(root, (tree.Var, tree.Element)) and (root.variable.scope != "this" or root.variable in kept):
                found.add(root.variable)
            elif isinstance(root, tree.Deref) and _variables(root.pointer, carried) & carried:
                found.add(_Scratch)
        elif _is_copy(each) and _variables(each, carried) & carried:
            found.add(_Scratch)
        elif _is_sent(each) or (isinstance(each, tree.Call) and each.name in _DIFFERENT):
            found.add(None)
    return found


def _root(target: tree.Expr) -> tree.Expr:
    while isinstance(target, (tree.MemberOf, tree.Index)):
        target = target.object
    return target


def _is_sent(node: Any) -> bool:
    if isinstance(node, (tree.Aggregate, tree.Exit, tree.Remove)):
        return True
    if isinstance(node, tree.Act):
        return node.name in _SENT or node.name in _CLOSING
    return isinstance(node, tree.Call) and node.name in _WRITERS


def _is_copy(node: Any) -> bool:
    return isinstance(node, tree.Call) and node.name in _COPIERS


def _is_single(statement: tree.Statement, kept: Set[Variable]) -> bool:
    """Whether the statement changes one thing, last of all that it does, and records nothing. (A number by rand() that
    is kept in a variable of the clause would be another one.)"""
    if isinstance(statement, tree.Aggregate):
        return not any(isinstance(node, (tree.Assign, tree.Increment)) for node in below(statement))
    if isinstance(statement, tree.Act):
        return statement.name in _SENT
    if not isinstance(statement, tree.Evaluate) or _is_forgotten(statement.expression, kept):
        return False
    changes = (isinstance(node, (tree.Assign, tree.Increment)) or _is_sent(node) or _is_copy(node)
               for node in below(statement))  # fmt: skip
    return sum(changes) == 1


def _is_forgotten(expression: tree.Expr, kept: Set[Variable]) -> bool:
    """Whether it is an assignment to a variable of the clause: done once, it would be unknown where that goes on."""
    if not isinstance(expression, (tree.Assign, tree.Increment)):
        return False
    root = _root(expression.target)
    return isinstance(root, tree.Var) and root.variable.scope == "this" and root.variable not in kept
