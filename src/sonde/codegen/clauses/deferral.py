"""Firings of a system call's entry that go on at its return, since a page that they read was not in memory.

No program at a system call's entry may wait for a page. But the call itself reads what it was given, and when it
returns the page is there. So where such a read fails, the firing is broken off: its record is given back, its arguments
and the time are kept with the thread, and a second program, which runs at the call's return before any other of ours,
goes on with the clause in question and those behind it (`codegen/firings/resumed.py`). What the clause had done by then
for good is not done again (`codegen/basis/repeating.py`). If the page is not there then either, the fault is reported.

That is right for what the call reads and leaves as it is (`probe.Syscall.inputs`); where it may have written in the
meantime the fault is reported at once. execve() takes the memory away: its firings go on when it is about to, at the
tracepoint sched_prepare_exec, or at the return if it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sonde.bpf import maps as kinds
from sonde.codegen.basis import firing_records, repeating
from sonde.codegen.basis.clause_state import Deferral
from sonde.codegen.basis.faults import ABSENT, DEFER, FINAL, KEPT
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import has_prepare_exec
from sonde.codegen.basis.places import HeldInRegister, Memory
from sonde.codegen.basis.storage import object_size
from sonde.codegen.clauses import carried, tokens
from sonde.codegen.expressions.access import copy, store
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg
from sonde.model import firing_record
from sonde.model import program as tree
from sonde.model.named_maps import WAITING
from sonde.model.probe import CHANGES_NOTHING, EXECS, Probe, Syscall
from sonde.model.program import Clause, Variable
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words
from sonde.model.walk import nodes
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.codegen.basis.repeating import Repeating

DEFERRED = "deferred"
"""The map of what is kept of a thread's firing, in words: where it goes on, the probe's index, the time in ns, the six
arguments, the clause-local variables that more than one clause uses, the state of strtok(), and the scratch memory that
clauses leave to each other, with its address and its size before it."""

WHERE, INDEX, TIME, ARGUMENTS, VARIABLES = 0, 8, 16, 24, 72
"""Offsets. WHERE has the clause's number (from 1) in its upper half and its progress in the lower 16 bits."""

_PREDICATE, _BODY = 0, 1
"""Progress: in the predicate, in the body, with so many more statements done; FINAL where there is no going on."""

_LOWEST = 1 << 16
"""There is nothing below in usual processes (vm.mmap_min_addr), so a read there fails for good."""

_HIGHEST = 1 << 56
"""The end of any process's addresses (TASK_SIZE_MAX with five levels of page tables, asm/page_64_types.h)."""

_NEAR = 4096
"""How far behind an argument's address something still counts as what the argument points to."""


_MOST_KEPT = 1 << 15
"""A thread's storage has less than 64 KiB (BPF_LOCAL_STORAGE_MAX_VALUE_SIZE, linux/bpf_local_storage.h)."""


def planned(g: Generation, clauses: Sequence[Clause]) -> Deferral | None:
    """What has to be known of the clauses of a program for entries of system calls; None if none reads a process."""
    if not any(map(repeating.reads_process, clauses)):
        return None
    kept: dict[Variable, int] = {}
    end = VARIABLES
    for variable in _shared_variables(g, clauses):
        kept[variable] = end
        end += whole_words(object_size(g.shared, variable.type))
    tokens_at = end if g.tokens is not None else None
    end += tokens.kept_size(g) if g.tokens is not None else 0
    region_at = end if g.carrying is not None else None
    end += 16 + g.carrying.size if g.carrying is not None else 0
    pointers = g.carrying.variables if g.carrying is not None else frozenset()
    numbers = {clause.id: number for number, clause in enumerate(clauses, 1)}
    repeats = {
        clause.id: repeating.repeating(clause, kept.keys(), pointers)
        for clause in clauses
        if repeating.reads_process(clause)
    }
    if end > _MOST_KEPT:
        # No clause goes on: where memory is absent there is a fault.
        kept, end, tokens_at, region_at = {}, VARIABLES, None, None
        repeats = dict.fromkeys(repeats, repeating.NEVER)
    g.shared.maps.add(MapSpec(DEFERRED, kinds.TASK_STORAGE, 4, end, 0, kinds.F_NO_PREALLOC, typed=True))
    g.shared.maps.add(MapSpec(WAITING, kinds.ARRAY, 4, 8, 1))
    return Deferral(numbers, repeats, kept, tokens_at, region_at)


def _shared_variables(g: Generation, clauses: Sequence[Clause]) -> list[Variable]:
    """Clause-local variables that more than one of the clauses uses, or that point into memory that is kept."""
    users: dict[Variable, set[int]] = {}
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Var) and node.variable.scope == "this":
                users.setdefault(node.variable, set()).add(clause.id)
    pointers = g.carrying.variables if g.carrying is not None else frozenset()
    return [variable for variable, found in users.items() if len(found) > 1 or variable in pointers]


def kept_firing(g: Generation, create: bool = False) -> Reg:
    """What is kept of this thread's firing; NULL if there is none, or, creating, no memory."""
    flag, tag = (Imm(1), "") if create else (Imm(0), "deferred")
    return g.call("task_storage_get", MapDescriptor(DEFERRED), g.current_task(), Imm(0), flag, pure=tag)


def find_in_loop(g: Generation) -> None:
    """In the function of a loop: look for the firing that goes on before a record is reserved, which nothing may leave
    behind."""
    if g.resumed is not None:
        g.b.branch("eq", kept_firing(g), Imm(0), g.leave)


# While clauses are generated


def begin_clause(g: Generation, clause: Clause, end: int) -> None:
    """Where the firing goes on: what is done of this clause; on to `end` if all of it is."""
    g.done = None
    if g.deferral is None:
        return
    number = g.deferral.numbers[clause.id]
    if g.resumed is None:
        if clause.id in g.deferral.repeats:
            g.done = g.b.copy(Imm(FINAL if _repeats(g).final < 0 else _PREDICATE))
            _note_token(g)
        return
    resumed = g.b.alu("rsh", g.resumed, Imm(32))
    g.b.branch("gt", resumed, Imm(number), end)
    if clause.id in g.deferral.repeats:
        progress = g.b.alu("and", g.resumed, Imm(0xFFFF))
        g.done = g.b.choose("eq", resumed, Imm(number), lambda: progress, lambda: Imm(_PREDICATE))


def begin_predicate(g: Generation, body: int) -> None:
    """It is not evaluated again: what the body has done for good may be the opposite of its condition."""
    if g.resumed is not None and g.done is not None:
        g.b.branch("ne", g.done, Imm(_PREDICATE), body)


def begin_body(g: Generation) -> None:
    if g.resumed is None and g.done is not None and _repeats(g).final >= 0:
        g.b.move(g.done, Imm(_BODY))
        _note_token(g)


def reach(g: Generation, statement: tree.Statement) -> None:
    """Before a statement: from some on, the clause cannot go on."""
    if g.resumed is not None or g.done is None or g.loop is not None:
        return
    number = _number(g, statement)
    if number is not None and number >= _repeats(g).final:
        g.b.move(g.done, Imm(FINAL))


@contextmanager
def once(g: Generation, statement: tree.Statement) -> Iterator[None]:
    """The statement's code is skipped if the firing has done it before."""
    number = _number(g, statement) if g.done is not None else None
    if g.done is None or number is None or number not in _repeats(g).once:
        yield
        return
    progress = Imm(number + 1 + _BODY)
    if g.resumed is None:
        yield
        g.b.move(g.done, progress)
        _note_token(g)
        return
    after, wanted = g.b.label(), g.b.label()
    g.b.branch("ge", g.done, progress, after, wanted)
    g.b.place(wanted)
    yield
    g.b.place(after)


def note_record(g: Generation, statements: Sequence[tree.Statement]) -> None:
    """The record of these statements is written, for good; a clause that has done so in a loop cannot go on."""
    if g.done is None or g.resumed is not None:
        return
    number = _number(g, statements[-1]) if statements else None
    g.b.move(g.done, Imm(FINAL if number is None else number + 1 + _BODY))
    _note_token(g)


@contextmanager
def unless_recorded(g: Generation, statements: Sequence[tree.Statement], others: Callable[[], None]) -> Iterator[None]:
    """Where the firing goes on and has written the record of the statements before, only the `others` are done."""
    number = _number(g, statements[-1]) if g.resumed is not None and g.done is not None and statements else None
    if g.done is None or number is None:
        yield
        return
    after, written, wanted = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("ge", g.done, Imm(number + 1 + _BODY), written, wanted)
    g.b.place(written)
    others()
    g.b.jump(after)
    g.b.place(wanted)
    yield
    g.b.place(after)


def _repeats(g: Generation) -> Repeating:
    assert g.deferral is not None
    assert g.clause is not None
    return g.deferral.repeats[g.clause.id]


def _number(g: Generation, statement: tree.Statement) -> int | None:
    """Which step of the clause it is, None if it is part of a loop."""
    assert g.clause is not None
    return next((number for number, each in enumerate(repeating.steps(g.clause.statements)) if each is statement), None)


# Breaking off


def defer(g: Generation, clause: Clause) -> None:
    """Where a clause has faulted: break the firing off, if that helps, else go on here."""
    if g.deferral is None or g.resumed is not None or g.done is None:
        return
    assert g.fault is not None
    absent, kept, report, unkept = g.b.label(), g.b.label(), g.b.label(), g.b.label()
    g.b.branch("set", g.fault.code, Imm(KEPT), kept, unkept)
    g.b.place(unkept)
    g.b.branch("set", g.fault.code, Imm(ABSENT), absent, report)
    g.b.place(absent)
    g.b.move(g.fault.code, g.b.alu("and", g.fault.code, Imm(ABSENT - 1)))
    g.b.branch("eq", g.done, Imm(FINAL), report)
    number = g.b.copy(Imm(g.deferral.numbers[clause.id] << 32))
    where = g.b.in_register(g.b.alu("or", number, g.done))
    result = g.b.call_local(DEFER, g.ctx, g.b.in_register(g.probe_index), where, g.fault.value)
    g.b.branch("eq", result, Imm(0), report, kept)
    g.b.place(kept)
    if g.firing_record is not None:
        firing_records.note(g, firing_record.BROKEN_OFF)
    _keep(g)
    g.b.jump(g.exit)
    g.b.place(report)


def _keeps_nothing(deferral: Deferral) -> bool:
    return not deferral.kept and deferral.tokens is None and deferral.region is None


def _keep(g: Generation) -> None:
    """All that clauses leave to each other."""
    assert g.deferral is not None
    if _keeps_nothing(g.deferral):
        return
    firing = kept_firing(g)
    g.b.branch("eq", firing, Imm(0), g.exit)
    _keep_variables(g, firing)
    if g.deferral.tokens is not None and g.tokens is not None:
        tokens.go_back(g)
        copy(g, g.tokens, Memory(firing, g.deferral.tokens), tokens.kept_size(g))
    if g.deferral.region is not None:
        carried.keep(g, Memory(firing, g.deferral.region))


def _keep_variables(g: Generation, firing: Reg) -> None:
    for variable, place, kept in _places(g, firing):
        if isinstance(place, HeldInRegister):
            g.b.store(kept.base, kept.offset, 8, place.register)
        else:
            copy(g, place, kept, object_size(g.shared, variable.type))


def _places(g: Generation, firing: Reg) -> Iterator[tuple[Variable, HeldInRegister | Memory, Memory]]:
    """The variables that are kept: where the program has each, and where the firing."""
    assert g.deferral is not None
    for variable, offset in g.deferral.kept.items():
        place = g.locals.get(variable)
        if isinstance(place, (HeldInRegister, Memory)):
            yield variable, place, Memory(firing, offset)


def restore(g: Generation) -> None:
    """What clauses leave to each other, where the firing goes on."""
    if g.deferral is None or g.resumed is None or _keeps_nothing(g.deferral):
        return
    firing = kept_firing(g)
    g.b.branch("eq", firing, Imm(0), g.exit)
    if g.deferral.tokens is not None and g.tokens is not None:
        copy(g, Memory(firing, g.deferral.tokens), g.tokens, tokens.kept_size(g))
    moved = None
    if g.deferral.region is not None:
        moved = carried.restore(g, Memory(firing, g.deferral.region))
    pointers = g.carrying.variables if moved is not None and g.carrying is not None else frozenset()
    for variable, place, kept in _places(g, firing):
        if variable in pointers or isinstance(place, HeldInRegister):
            value: Operand = g.b.load(kept.base, kept.offset, 8)
            store(g, place, 8, moved(value) if moved is not None and variable in pointers else value)
        else:
            copy(g, kept, place, object_size(g.shared, variable.type))


def generate_routine(g: Generation) -> Generation:
    """The subprogram (ctx, probe's index, where, address) that keeps a firing: 1, or 0 if a later read would fail as
    well, or might read something else."""
    made = Generation(DEFER, g.context, g.shared, g.handlers, parameters=4)
    _, index, where, address = made.b.function.parameters
    b = made.b
    b.branch("lt", address, Imm(_LOWEST), made.leave)
    b.branch("ge", address, Imm(_HIGHEST), made.leave)
    arguments = [made.context.argument(made, number) for number in range(6)]
    _require_input(made, _inputs(made, index), arguments, address)
    firing = kept_firing(made, create=True)
    b.branch("eq", firing, Imm(0), made.leave)
    b.store(firing, WHERE, 8, where)
    b.store(firing, INDEX, 8, index)
    b.store(firing, TIME, 8, made.call("ktime_get_ns"))
    for number, argument in enumerate(arguments):
        b.store(firing, ARGUMENTS + 8 * number, 8, argument)
    b.atomic_add(b.map_value(WAITING), 0, Imm(1))
    b.ret(Imm(1))
    b.place(made.exit)
    b.place(made.leave)
    b.ret(Imm(0))
    return made


def _inputs(g: Generation, index: Reg) -> Operand:
    """What the call reads and leaves as it is (`probe.Syscall.inputs`)."""
    numbered = zip(g.context.index.places, g.context.probes, strict=True)
    known = {place: _inputs_of(g, probe) for place, probe in numbered}
    if g.context.index.size == 1:
        return Imm(known[0])
    table = g.shared.maps.table("inputs", bytes(known.get(number, 0) for number in range(g.context.index.size)))
    g.b.branch("ge", index, Imm(g.context.index.size), g.leave)
    at = g.b.in_register(g.b.alu("add", g.b.map_value(table), index))
    return g.b.load(at, 0, 1)


def _inputs_of(g: Generation, probe: Probe) -> int:
    firing = probe.firing
    if not isinstance(firing, Syscall) or (firing.name in EXECS and not has_prepare_exec(g.shared.target)):
        return 0
    return firing.inputs


def _require_input(g: Generation, inputs: Operand, arguments: Sequence[Operand], address: Reg) -> None:
    """Leave unless the address is one that the call reads from only: it has no other, or the nearest argument below is
    such a one."""
    good = g.b.label()
    g.b.branch("set", inputs, Imm(CHANGES_NOTHING), good)
    nearest, bit = g.b.copy(Imm(-1)), g.b.copy(Imm(0))
    for number, argument in enumerate(arguments):
        distance = g.b.alu("sub", address, argument)
        with g.b.when("lt", distance, nearest):
            g.b.move(nearest, distance)
            g.b.move(bit, Imm(1 << number))
    g.b.branch("ge", nearest, Imm(_NEAR), g.leave)
    g.b.branch("eq", g.b.alu("and", inputs, bit), Imm(0), g.leave)
    g.b.place(good)


def _note_token(g: Generation) -> None:
    if g.tokens is not None:
        tokens.note_start(g)
