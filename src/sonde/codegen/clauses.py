"""A clause as code: predicate, record, statements, and what happens when one of them faults."""

from __future__ import annotations

from sonde.codegen import clock, records, region
from sonde.codegen.generation import Fault, Generation
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.names import MASK_BITS, clause_mask, probe_id
from sonde.lang import program as tree
from sonde.lang.program import Clause
from sonde.spec import Field, RecordLayout

ERROR_ROUTINE = "error_clauses"

Planned = tuple[Clause, RecordLayout | None, list[Field], int]
"""A clause with its record's layout, its fields and the most bytes of its long strings."""


def generate(g: Generation, planned: Planned, bit: int | None) -> None:
    """The clause's code; where `bit` is given, only for probes whose mask has it."""
    clause, layout, fields, tail = planned
    g.clause = clause
    g.at(clause.position)
    end = g.b.label()
    if bit is not None:
        wanted = g.b.label()
        word, place = divmod(bit, MASK_BITS)
        g.b.branch("set", clause_mask(g, word), Imm(1 << place), wanted, end)
        g.b.place(wanted)
    failed, abandon = g.b.label(), g.b.label()
    g.fault = Fault(failed, g.b.register(), g.b.register(), g.b.register())
    shares_clock = clock.is_shared(clause)
    scratch_first = region.is_used_by_predicate(g, clause)
    if scratch_first:
        region.begin(g)
    if clause.predicate is not None:
        body = g.b.label()
        if shares_clock:
            clock.prepare_predicate(g, clause.predicate)
        g.branch(clause.predicate, body, end)
        g.b.place(body)
        g.release_temporaries()
    if not scratch_first and region.is_used(g, clause):
        region.begin(g)
    if layout is not None:
        records.begin(g, layout, fields, tail)
        g.fault = g.fault._replace(label=abandon)
    for statement in clause.statements:
        g.at(statement.position)
        if shares_clock:
            clock.prepare(g, statement)
        g.statement(statement)
        g.release_temporaries()
    g.at(clause.position)
    if layout is not None:
        records.submit(g)
    g.b.jump(g.exit if _stops(clause) else end)
    if layout is not None:
        g.b.place(abandon)
        records.discard(g)
        g.b.jump(failed)
    g.b.place(failed)
    _report(g, clause)
    g.b.place(end)
    g.record = None


def _stops(clause: Clause) -> bool:
    """No later clause of the firing runs after exit()."""
    return any(isinstance(s, tree.Exit) for s in clause.statements)


def epid(g: Generation, clause: Clause) -> Operand:
    """Clause in the lower half, probe in the upper: the first eight bytes of a record."""
    return g.b.alu("or", g.b.alu("lsh", probe_id(g), Imm(32)), Imm(clause.id))


def _report(g: Generation, clause: Clause) -> None:
    """Run the ERROR clauses, one of which may call exit(); a fault in one of these is only counted."""
    assert g.fault is not None
    if g.is_error_routine:
        g.count("errors")
        return
    if clause.is_hidden:
        # The program did not write it, and could not make anything of the fault.
        return
    fault = g.fault
    which = epid(g, clause)
    g.b.call_local(ERROR_ROUTINE, g.ctx, g.b.in_register(which), fault.pc, fault.code, fault.value)
    state = g.b.map_value(g.shared.maps.state())
    g.b.branch("ne", g.b.load(state, 0, 4), Imm(g.activity), g.exit)
