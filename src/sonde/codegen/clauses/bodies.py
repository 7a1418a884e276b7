"""A clause as code: predicate, statements with their records, and what happens when one of them faults."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.codegen.basis.clause_state import FaultExit
from sonde.codegen.basis.faults import report
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.names import MASK_BITS, clause_mask
from sonde.codegen.basis.places import HeldInRegister
from sonde.codegen.clauses import carried, deferral, loops
from sonde.codegen.expressions import clock, region
from sonde.codegen.expressions.integers import can_be_forgotten, forgotten
from sonde.codegen.intermediate.ir import Imm
from sonde.codegen.records import commits, writing
from sonde.codegen.records.parts import (
    Branching,
    Inlining,
    Leaving,
    Looping,
    Part,
    Parts,
    Straight,
    is_speculating,
)
from sonde.codegen.records.plan import Recorded, closes, is_recorded
from sonde.model import program as tree
from sonde.model.program import Clause, Variable
from sonde.model.types import is_signed
from sonde.model.walk import below, nodes

Planned = tuple[Clause, Parts]


def generate(g: Generation, planned: Planned, bit: int | None, is_last: bool = False) -> None:
    """The clause's code; where `bit` is given, only for probes whose mask has it. One that `is_last` no clause follows
    of any of its probes: the program ends behind it, so that the verifier does not take what it leaves to others."""
    clause, parts = planned
    g.clause = clause
    g.at(clause.position)
    end, others = g.b.label(), g.b.label()
    if bit is not None:
        wanted = g.b.label()
        word, place = divmod(bit, MASK_BITS)
        g.b.branch("set", clause_mask(g, word), Imm(1 << place), wanted, others)
        g.b.place(wanted)
    if clause.keeps:
        _keep(g, clause, end)
        g.b.place(end)
        g.b.place(others)
        return
    deferral.begin_clause(g, clause, end)
    failed = g.b.label()
    g.finish = g.b.label()
    g.fault = FaultExit(failed, g.b.register(), g.b.register(), g.b.register())
    g.shares_clock = clock.is_shared(clause)
    g.clock = None
    g.region = None
    scratch_first = region.is_used_first(g, clause)
    if scratch_first:
        region.begin(g)
    predicate = _behind_condition(g, clause, end)
    if predicate is not None:
        body = g.b.label()
        deferral.begin_predicate(g, body)
        if g.shares_clock:
            clock.prepare_predicate(g, predicate)
        g.branch(predicate, body, end)
        g.b.place(body)
        g.release_temporaries()
    if not scratch_first and region.is_used(g, clause):
        region.begin(g)
    deferral.begin_body(g)
    g.speculation = g.b.copy(Imm(0)) if is_speculating(clause) else None
    g.has_exited = g.b.copy(Imm(0)) if _may_exit(clause) else None
    _parts(g, parts)
    g.at(clause.position)
    g.b.place(g.finish)
    carried.end(g, clause)
    if g.has_exited is not None:
        # No later clause of the firing runs after exit().
        g.b.branch("ne", g.has_exited, Imm(0), g.exit)
    g.b.jump(end)
    g.b.place(failed)
    if g.meets is not None:
        g.b.move(g.meets, Imm(1))
    deferral.defer(g, clause)
    carried.end(g, clause)
    _report(g, clause)
    g.b.place(end)
    if is_last and bit is not None:
        g.b.jump(g.exit)
    g.b.place(others)


def _keep(g: Generation, clause: Clause, end: int) -> None:
    """Evaluate each statement for what it reads; a fault is the end of that one. Of a firing that goes on later all is
    kept already."""
    if g.resumed is not None:
        return
    registers = g.b.register(), g.b.register(), g.b.register()
    g.shares_clock, g.clock, g.region = False, None, None
    g.kept = set()
    g.fault = FaultExit(end, *registers)
    _behind_condition(g, clause._replace(predicate=clause.condition), end)
    if region.is_used(g, clause):
        region.begin(g)
    for statement in clause.statements:
        next_one = g.b.label()
        g.fault = FaultExit(next_one, *registers)
        g.at(statement.position)
        g.statement(statement)
        g.release_temporaries()
        g.b.place(next_one)
    g.fault = g.kept = None


def _behind_condition(g: Generation, clause: Clause, end: int) -> tree.Expr | None:
    """What is left of the predicate. Where firings are recorded the condition of the probe is looked at by itself
    before: the firing is one that meets it, whatever the predicate says. One that goes on later has met it."""
    condition, predicate = clause.condition, clause.predicate
    if condition is None or predicate is None:
        return predicate
    rest = None if predicate is condition else predicate.right if isinstance(predicate, tree.Binary) else predicate
    if g.resumed is None:
        met = g.b.label()
        g.branch(condition, met, end)
        g.b.place(met)
        g.release_temporaries()
        if g.meets is not None:
            g.b.move(g.meets, Imm(1))
    return rest


def _parts(g: Generation, parts: Parts) -> None:
    for part in parts:
        _PARTS[type(part)](g, part)


def _straight(g: Generation, part: Part) -> None:
    """Statements one after the other, written into their record if they have one."""
    assert isinstance(part, Straight)
    first = part.statements[0] if part.statements else None
    if isinstance(first, tree.Act) and closes(part.statements):
        assert part.record is not None
        _prepare(g, first)

        commits.close(g, first, part.record)
        g.release_temporaries()
        return
    if part.record is None:
        _statements(g, part.statements)
        return
    unrecorded = [each for each in part.statements if not is_recorded(each)]
    with deferral.unless_recorded(g, part.statements, lambda: _statements(g, unrecorded)):
        _recording(g, part, part.record)


def _recording(g: Generation, part: Straight, record: Recorded) -> None:
    assert g.fault is not None
    before, abandon, end = g.fault, g.b.label(), g.b.label()
    writing.begin(g, record)
    g.fault = before._replace(label=abandon)
    _statements(g, part.statements)
    writing.submit(g)
    deferral.note_record(g, part.statements)
    g.b.jump(end)
    g.b.place(abandon)
    writing.discard(g)
    g.b.jump(before.label)
    g.b.place(end)
    g.fault = before
    g.record = None


def _statements(g: Generation, statements: Sequence[tree.Statement]) -> None:
    for statement in statements:
        with deferral.once(g, statement):
            _prepare(g, statement)
            g.statement(statement)
            g.release_temporaries()


def _prepare(g: Generation, statement: tree.Statement) -> None:
    g.at(statement.position)
    deferral.reach(g, statement)
    if g.shares_clock:
        clock.prepare(g, statement)


def _branching(g: Generation, part: Part) -> None:
    assert isinstance(part, Branching)
    _prepare(g, part.statement)
    then, otherwise, end = g.b.label(), g.b.label(), g.b.label()
    g.branch(part.statement.test, then, otherwise)
    g.release_temporaries()
    g.b.place(then)
    _parts(g, part.then)
    g.b.jump(end)
    g.b.place(otherwise)
    _parts(g, part.otherwise)
    g.b.place(end)
    if not (_leaves(part.then) or _leaves(part.otherwise)):
        _forget_assigned(g, part.statement)


def _leaves(parts: Parts) -> bool:
    """Whether control never comes to their end."""
    last = parts[-1] if parts else None
    return isinstance(last, Leaving) or (isinstance(last, Branching) and _leaves(last.then) and _leaves(last.otherwise))


def _inlining(g: Generation, part: Part) -> None:
    assert isinstance(part, Inlining)
    outer, g.returned = g.returned, g.b.label()
    _parts(g, part.body)
    g.b.place(g.returned)
    g.returned = outer
    _forget_assigned(g, part.statement)


def _forget_assigned(g: Generation, statement: tree.If | tree.Inlined) -> None:
    """The clause-local integers that are set on one of several paths, where these come together
    (`integers.forgotten`)."""
    known: dict[Variable, bool] = {}
    for node in below(statement):
        if isinstance(node, (tree.Assign, tree.Increment)) and isinstance(node.target, tree.Var):
            variable = node.target.variable
            known[variable] = known.get(variable, False) or _is_known(node)
    for variable, is_known in known.items():
        place = g.locals.get(variable)
        if isinstance(place, HeldInRegister) and can_be_forgotten(variable.type):
            g.b.move(place.register, forgotten(g, place.register, is_signed(variable.type)))
        elif isinstance(place, HeldInRegister) and is_known:
            # It may be an address that the verifier tracks, which the stack would give back as such or not at all.
            box = g.number_box()
            g.b.store(box.base, box.offset, 8, place.register)
            g.b.move(place.register, g.b.load(box.base, box.offset, 8))


def _is_known(node: tree.Assign | tree.Increment) -> bool:
    """Whether the verifier may know the value: a constant, or one more than what it knows."""
    if isinstance(node, tree.Increment) or node.op is not None:
        return True
    value = node.value
    while isinstance(value, tree.Cast):
        value = value.operand
    return isinstance(value, tree.Const)


def _looping(g: Generation, part: Part) -> None:
    assert isinstance(part, Looping)
    _prepare(g, part.statement)
    loops.generate(g, part, _parts)


def _leaving(g: Generation, part: Part) -> None:
    assert isinstance(part, Leaving)
    if isinstance(part.statement, tree.Return):
        g.b.jump(g.returned if part.statement.of_function else g.finish)
        return
    assert g.loop is not None
    g.b.jump(g.loop.stop if part.statement.is_break else g.loop.step)


_PARTS = {Straight: _straight, Branching: _branching, Looping: _looping, Inlining: _inlining, Leaving: _leaving}


def _may_exit(clause: Clause) -> bool:
    return any(isinstance(node, tree.Exit) for node in nodes(clause))


def _report(g: Generation, clause: Clause) -> None:
    """Run the ERROR clauses, one of which may call exit(); a fault in one of these is only counted."""
    assert g.fault is not None
    if g.is_error_routine:
        g.count("errors")
        return
    if clause.is_hidden:
        # The program did not write it, and could not make anything of the fault.
        return
    report(g, clause)
    state = g.b.map_value(g.shared.maps.state())
    g.b.branch("ne", g.b.load(state, 0, 4), Imm(g.activity), g.exit)
