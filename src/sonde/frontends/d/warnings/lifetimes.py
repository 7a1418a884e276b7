"""Values that are not there where they are read: of another firing, or of before tracing began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.frontends.d.warnings.warning import Warning
from sonde.model.kinds import is_string
from sonde.model.probe import Internal, StaticProbe, Timer, Uprobe
from sonde.model.program import (
    Aggregate,
    Assign,
    Binary,
    Builtin,
    Cast,
    Clause,
    Conditional,
    Element,
    If,
    Increment,
    Index,
    MemberOf,
    Var,
    Variable,
)
from sonde.model.walk import below, is_zero, nodes
from sonde.typed import Any

_CLOCKS = ("timestamp", "vtimestamp", "walltimestamp")
_WHO = frozenset({"pid", "tid", "ppid", "$target", "curthread"})
"""What a predicate asks for that may be true only of who began under the eyes of the program."""


def lost_values(clauses: Sequence[Clause]) -> Iterator[Warning]:
    """Reads of `this->` variables that only clauses of other probes set: they last one firing."""
    writers: dict[int, list[Clause]] = {}
    for clause in clauses:
        for each in _written(clause):
            writers.setdefault(each, []).append(clause)
    lost: dict[Any, Variable] = {}
    found: set[Any] = set()
    for clause in clauses:
        if not clause.probes or _is_internal(clause, "ERROR"):
            continue
        for node in nodes(clause):
            if isinstance(node, Var) and node.variable.scope == "this" and node.variable.id in writers:
                if any(each is clause or _may_share(clause, each) for each in writers[node.variable.id]):
                    found.add(node.position)
                else:
                    lost.setdefault(node.position, node.variable)
    told: set[int] = set()
    for position, variable in lost.items():
        # A clause of several descriptions is there once for each: what is right for one of them is meant.
        if position not in found and variable.id not in told:
            told.add(variable.id)
            text = f"this->{variable.name} is 0 here: only clauses of other probes set it, and it lasts one firing"
            remedy = f"a value for a later probe of the thread is kept in self->{variable.name}"
            yield Warning(position, text, remedy)


def _may_share(clause: Clause, writer: Clause) -> bool:
    """Whether a firing can be of both."""
    if clause.probes is writer.probes or not writer.probes:
        return True
    return not {p.id for p in clause.probes}.isdisjoint(p.id for p in writer.probes)


def missing_starts(clauses: Sequence[Clause]) -> Iterator[Warning]:
    """`self->` variables that times are taken from, or that are keys, where the clause also runs in threads that have
    not set them: what was under way when tracing began has set none."""
    starts = [_started(clause) for clause in clauses]
    for number, clause in enumerate(clauses):
        if not _is_of_any_thread(clause) or _asks(clause):
            continue
        for node in nodes(clause):
            for variable, effect in _uses(node):
                before = (each for each, names in zip(clauses[:number], starts, strict=False) if variable.id in names)
                is_set = any(variable.id in names for names in starts) and variable.id not in starts[number]
                if is_set and not any(_may_share(clause, each) for each in before):
                    name = f"self->{variable.name}" + ("[]" if variable.keys is not None else "")
                    text = f"{name} is not set by what was under way when tracing began: {effect}"
                    yield Warning(node.position, text, f"ask for it in the predicate: /self->{variable.name}/")


def _uses(node: Any) -> Iterator[tuple[Variable, str]]:
    """The thread's variables that the node cannot do without, and what becomes of it without."""
    variable = _since(node)
    if variable is not None:
        yield variable, "the time is then that since boot"
    if isinstance(node, Aggregate):
        for key in map(_bare, node.keys):
            if isinstance(key, (Var, Element)) and key.variable.scope == "self":
                yield key.variable, f"the key is then {'empty' if is_string(key.type) else '0'}"


def _since(node: Any) -> Variable | None:
    """The thread's variable that is taken from a clock."""
    if not isinstance(node, Binary) or node.op != "-":
        return None
    left, right = _bare(node.left), _bare(node.right)
    if not isinstance(left, Builtin) or left.name not in _CLOCKS or not isinstance(right, (Var, Element)):
        return None
    return right.variable if right.variable.scope == "self" else None


def _is_of_any_thread(clause: Clause) -> bool:
    """Whether its probes fire in threads that were there before, in the middle of something."""
    return bool(clause.probes) and not any(
        isinstance(p.firing, (Internal, Timer)) or (isinstance(p.firing, (Uprobe, StaticProbe)) and p.firing.pid)
        for p in clause.probes
    )


def _asks(clause: Clause) -> bool:
    """Whether the clause looks at a variable, or at who runs, before it goes on, or has branches that may."""
    if any(isinstance(node, (If, Conditional)) or _is_choice(node) for s in clause.statements for node in below(s)):
        return True
    if clause.predicate is None:
        return False
    return any(
        isinstance(node, (Var, Element)) or (isinstance(node, Builtin) and node.name in _WHO) or _is_call(node)
        for node in below(clause.predicate)
    )


def _is_choice(node: Any) -> bool:
    return isinstance(node, Binary) and node.op in ("&&", "||")


def _is_call(node: Any) -> bool:
    return type(node).__name__ == "Call" and node.name == "progenyof"


def _written(clause: Clause) -> set[int]:
    """The variables that it assigns to, or to parts of."""
    return {each.id for node in nodes(clause) for each in _target(node)}


def _started(clause: Clause) -> set[int]:
    """The variables that it sets to something other than 0."""
    found = (node for node in nodes(clause) if not (isinstance(node, Assign) and is_zero(node.value)))
    return {each.id for node in found for each in _target(node)}


def _target(node: Any) -> Iterator[Variable]:
    if isinstance(node, (Assign, Increment)):
        target = node.target
        while isinstance(target, (MemberOf, Index)):
            target = target.object
        if isinstance(target, (Var, Element)):
            yield target.variable


def _bare(value: Any) -> Any:
    while isinstance(value, Cast):
        value = value.operand
    return value


def _is_internal(clause: Clause, name: str) -> bool:
    return any(isinstance(p.firing, Internal) and p.firing.name == name for p in clause.probes)
