"""A clause's statements in the parts that code is generated for, each straight part with the record it writes.

Statements without branches between them share a record. A branch ends one; so do commit() and discard(), which have
records of their own, and speculate(), behind which records belong to the speculation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.codegen.basis.generation import Shared
from sonde.codegen.records.plan import CLOSING, Recorded, RecordPlan, is_appended
from sonde.model import program as tree
from sonde.model.program import Aggregation, Clause
from sonde.model.walk import nodes
from sonde.typed import NamedTuple, TypeAlias


class Straight(NamedTuple):
    """Statements one after the other; `record` is None if they record nothing."""

    statements: tuple[tree.Statement, ...]
    record: Recorded | None


class Branching(NamedTuple):
    statement: tree.If
    then: Parts
    otherwise: Parts


class Looping(NamedTuple):
    statement: tree.Loop | tree.Each
    body: Parts
    step: Parts


class Inlining(NamedTuple):
    statement: tree.Inlined
    body: Parts


class Leaving(NamedTuple):
    statement: tree.Leave | tree.Return


Part: TypeAlias = Straight | Branching | Looping | Inlining | Leaving
Parts: TypeAlias = "tuple[Part, ...]"


class Divider:
    """Divides clauses; the records after a clause's first are numbered from `following` on."""

    def __init__(self, shared: Shared, numbers: dict[Aggregation, int], following: int) -> None:
        self._shared = shared
        self._numbers = numbers
        self._following = following

    def divide(self, clause: Clause) -> Parts:
        """The whole clause. An empty one writes a record, and so does one that speculates and records nothing."""
        self._clause = clause
        self._free = clause.id
        if not clause.statements:
            return (self._default(),)
        self._needs_default = False
        parts = self._parts(clause.statements)
        if is_speculating(clause) and not any(_is_data(record) for record in records(parts)):
            self._free = clause.id
            self._needs_default = True
            parts = self._parts(clause.statements)
        return parts

    def _default(self) -> Straight:
        return Straight((), self._plan(()).recorded(self._number()))

    def _plan(self, statements: Sequence[tree.Statement]) -> RecordPlan:
        return RecordPlan(self._clause, statements, self._shared, self._numbers)

    def _number(self) -> int:
        """The clause's own for its first record."""
        number, self._free = self._free, 0
        if not number:
            number = self._following
            self._following += 1
        return number

    def _parts(self, statements: Sequence[tree.Statement]) -> Parts:
        parts: list[Part] = []
        straight: list[tree.Statement] = []
        for statement in statements:
            if not _stands_alone(statement):
                if self._appends(statement) and any(map(self._appends, straight)):
                    # A record ends in one packet.
                    parts += self._straight(straight)
                    straight = []
                straight.append(statement)
                continue
            parts += self._straight(straight)
            straight = []
            parts.append(self._alone(statement))
            if self._needs_default and _is_act(statement, "speculate"):
                parts.append(self._default())
        return (*parts, *self._straight(straight))

    def _appends(self, statement: tree.Statement) -> bool:
        return is_appended(statement, self._clause, self._shared.settings)

    def _alone(self, statement: tree.Statement) -> Part:
        if isinstance(statement, tree.If):
            return Branching(statement, self._parts(statement.then), self._parts(statement.otherwise))
        if isinstance(statement, (tree.Loop, tree.Each)):
            # What a loop records may come again, so it is not the clause's first record.
            free, self._free = self._free, 0
            step = statement.step if isinstance(statement, tree.Loop) else ()
            loop = Looping(statement, self._parts(statement.body), self._parts(step))
            self._free = free
            return loop
        if isinstance(statement, tree.Inlined):
            return Inlining(statement, self._parts(statement.body))
        if isinstance(statement, (tree.Leave, tree.Return)):
            return Leaving(statement)
        (part,) = self._straight([statement])
        return part

    def _straight(self, statements: Sequence[tree.Statement]) -> list[Straight]:
        if not statements:
            return []
        plan = self._plan(statements)
        return [Straight(tuple(statements), plan.recorded(self._number()) if plan.actions else None)]


def is_speculating(clause: Clause) -> bool:
    return any(_is_act(node, "speculate") for node in nodes(clause))


def records(parts: Parts) -> Iterator[Recorded]:
    """The records of all parts, in the order of the program."""
    for part in straight(parts):
        if part.record is not None:
            yield part.record


def straight(parts: Parts) -> Iterator[Straight]:
    """The straight parts, also of branches, loops and functions, in the order of the program."""
    for part in parts:
        if isinstance(part, Straight):
            yield part
        for inner in _inner(part):
            yield from straight(inner)


def _inner(part: Part) -> tuple[Parts, ...]:
    if isinstance(part, Branching):
        return part.then, part.otherwise
    if isinstance(part, Looping):
        return part.body, part.step
    return (part.body,) if isinstance(part, Inlining) else ()


def _stands_alone(statement: tree.Statement) -> bool:
    return isinstance(statement, _ALONE) or _is_act(statement, "speculate", *CLOSING)


_ALONE = (tree.If, tree.Loop, tree.Each, tree.Leave, tree.Inlined, tree.Return)


def _is_act(node: object, *names: str) -> bool:
    return isinstance(node, tree.Act) and node.name in names


def _is_data(record: Recorded) -> bool:
    """Whether the record is more than that of a commit() or discard()."""
    return not any(getattr(action, "name", "") in CLOSING for action in record.layout.actions)
