"""One BPF program: what every firing does first and last, and the clauses between.

The state of the session is checked, the context adapter finds out which probe it is, scratch memory is taken if
anything needs it (one of this CPU's frames that no other firing holds), then come the clauses, each behind its bit of
the probe's mask where not all probes have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.bpf import maps as kinds
from sonde.codegen.basis import firing_records, kernels
from sonde.codegen.basis.clause_state import FaultExit
from sonde.codegen.basis.faults import DEFER, ERROR_ROUTINE, unpacked
from sonde.codegen.basis.generation import Context, Generation, Shared
from sonde.codegen.basis.names import MASK_BITS, build_table, is_open, masks, open_table
from sonde.codegen.basis.places import HeldInRegister, Memory
from sonde.codegen.basis.storage import local_place, object_size
from sonde.codegen.basis.uses import samples
from sonde.codegen.clauses import bodies, carried, deferral, loops, tokens, turns
from sonde.codegen.clauses.bodies import Planned
from sonde.codegen.expressions import kept_stacks
from sonde.codegen.expressions.access import zero
from sonde.codegen.expressions.resident import may_sleep
from sonde.codegen.firings import widening
from sonde.codegen.handlers import HANDLERS
from sonde.codegen.intermediate.ir import Atomic, Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.records import writing
from sonde.model.named_maps import ACTIVE, DRAINING, INACTIVE
from sonde.model.probe import KernelFunction, Probe, StaticPattern, StaticProbe, Uprobe
from sonde.model.program import Call, Clause, Expr, Var, Variable
from sonde.model.spec import MapSpec
from sonde.model.walk import nodes

FRAMES = 3
"""Firings that can be under way on one CPU: thread, interrupt, and one more for safety."""

PREEMPTIBLE_FRAMES = 8
"""Where programs can be preempted, others are run on their CPU meanwhile, in other threads."""

SCRATCH = "scratch"

_CALLED = "general"
"""The array of general probes that adapters call (`codegen/firings/adapters.py`)."""

_ACTIVITY = {"BEGIN": INACTIVE, "END": DRAINING}


def generate(
    name: str,
    context: Context,
    planned: Sequence[Planned],
    shared: Shared,
    may_defer: bool = False,
    caller_at: tuple[tuple[int, int], ...] = (),
) -> Generation:
    """The program that runs these clauses for the context's probes; `may_defer` if it is one of two that share a firing
    (`codegen/clauses/deferral.py`); `caller_at` as `Generation` has it."""
    g = Generation(name, context, shared, HANDLERS)
    g.caller_at = caller_at
    own = [clause for clause, _ in planned]
    _plan_lasting(g, own)
    g.deferral = deferral.planned(g, own) if may_defer else None
    g.may_sleep = may_sleep(g, own)
    setup, body = g.b.label(), g.b.label()
    bits = _partial_clauses(g, planned)
    # What the program returns: whether the perf event's own handler runs as well (bpf_overflow_handler,
    # kernel/events/core.c).
    g.sampled = g.b.copy(Imm(0)) if samples(clause for clause, _ in planned) else None
    turns.reserve(g, [clause for clause, _ in planned])
    _check_activity(g)
    g.probe_index = context.enter(g)
    _check_cpu(g)
    g.b.jump(setup)
    g.b.place(body)
    variables = _local_variables(g, planned)
    deferral.restore(g)
    if shared.settings.records:
        firing_records.begin(g, own)
        if firing_records.are_filtered(own) and g.resumed is None:
            g.meets = g.b.copy(Imm(0))
        if shared.settings.record_reads:
            widening.widen(g)
    for number, item in enumerate(planned):
        bodies.generate(g, item, bits.get(item[0].id), _is_last(g, item[0], planned[number + 1 :]))
    if g.deferral is not None and g.resumed is None:
        g.subprograms[DEFER] = deferral.generate_routine(g)
    g.b.place(g.exit)
    if shared.settings.records:
        if g.shared.settings.record_stack:
            kept_stacks.keep_stack(g)
        firing_records.submit(g)
    _leave(g)
    _set_up(g, setup, body, variables)
    _place_leave(g)
    return g


def generate_adapter(
    name: str, context: Context, number: int, shared: Shared, condition: Expr | None = None
) -> Generation:
    """The program that calls the general probe of that number, if the condition holds. What is called finds the cookie
    of the firing, which is the probe's place there.

    A condition follows pointers that a tracepoint is given; one that led nowhere would be no firing of the probe.
    """
    g = Generation(name, context, shared, HANDLERS)
    setup, body = g.b.label(), g.b.label()
    if condition is not None:
        g.b.jump(setup)
        g.b.place(body)
        _require(g, condition)
    g.call("tail_call", g.ctx, MapDescriptor(_CALLED), Imm(number))
    g.b.ret(Imm(0))
    if condition is not None:
        g.b.place(g.exit)
        _leave(g)
        _set_up(g, setup, body, ())
        _place_leave(g)
    return g


def _require(g: Generation, condition: Expr) -> None:
    """Go on if the condition holds, without a frame: a program that is called does not come back."""
    holds = g.b.label()
    g.at(condition.position)
    g.fault = FaultExit(g.exit, g.b.register(), g.b.register(), g.b.register())
    g.branch(condition, holds, g.exit)
    g.b.place(holds)
    g.release_temporaries()
    if g.scratch.base is not None:
        g.b.store(g.scratch.base, 0, 8, Imm(0))


def called_programs(names: Sequence[str]) -> MapSpec:
    """The array, which has the programs of these names."""
    return MapSpec(_CALLED, kinds.PROG_ARRAY, 4, 4, len(names), elements=tuple(enumerate(names)))


def generate_error_routine(context: Context, planned: Sequence[Planned], shared: Shared) -> Generation:
    """The subprogram (ctx, epid, code and pc, value, turns) that a fault calls: ERROR clauses, then the fault's own
    record."""
    g = Generation(ERROR_ROUTINE, context, shared, HANDLERS, parameters=5)
    g.is_error_routine = True
    _plan_lasting(g, [clause for clause, _ in planned])
    turns.reserve(g, ())
    setup, body = g.b.label(), g.b.label()
    g.b.jump(setup)
    g.b.place(body)
    variables = _local_variables(g, planned)
    for item in planned:
        bodies.generate(g, item, None)
    g.b.place(g.exit)
    writing.submit_fault(g, g.parameters[1], unpacked(g))
    _leave(g)
    _set_up(g, setup, body, variables)
    _place_leave(g)
    return g


def _check_activity(g: Generation) -> None:
    """Probes fire while the session is active; BEGIN before, END after."""
    probe = g.context.probes[0]
    if probe.provider == "dtrace":
        g.activity = _ACTIVITY.get(probe.name, ACTIVE)
    state = g.b.map_value(g.shared.maps.state())
    g.b.branch("ne", g.b.load(state, 0, 4), Imm(g.activity), g.leave)


def _check_cpu(g: Generation) -> None:
    """A firing that goes on was one of that CPU when it began, wherever its thread is now."""
    if g.shared.settings.cpu is not None and g.resumed is None:
        g.b.branch("ne", g.cpu_number(), Imm(g.shared.settings.cpu), g.leave)


def _partial_clauses(g: Generation, planned: Sequence[Planned]) -> dict[int, int]:
    """Clauses that not all the program's probes have, by their id, and the bit that each has in a probe's mask.

    Adds the probe table, which says for each probe which bits are set.
    """
    all_probes = {p.id for p in g.context.probes}
    bits: dict[int, list[int]] = {}
    partial: dict[int, int] = {}
    for clause, *_ in planned:
        own = {p.id for p in clause.probes} & all_probes
        if own != all_probes:
            partial[clause.id] = len(partial)
            for identifier in own:
                bits.setdefault(identifier, []).append(partial[clause.id])
    g.mask_words = -(-len(partial) // MASK_BITS)
    # Hidden clauses have no epid.
    g.numbered = tuple(clause.id for clause, _ in planned if clause.id in g.shared.numbers and not clause.is_hidden)
    if is_open(g):
        g.site_masks = masks(g, bits)
        g.shared.maps.add(open_table(g))
    elif len(g.context.probes) > 1:
        g.shared.maps.table(g.table, build_table(g, bits))
    return partial


def _is_last(g: Generation, clause: Clause, following: Sequence[Planned]) -> bool:
    """Whether none of those that follow has any of the clause's probes. A site that is found while the program runs may
    have several of its descriptions."""
    if is_open(g):
        return not following
    own = {probe.id for probe in clause.probes}
    return all(own.isdisjoint(probe.id for probe in each.probes) for each, _ in following)


def _plan_lasting(g: Generation, own: Sequence[Clause]) -> None:
    """What clauses of a firing leave to those behind them, but for variables."""
    carried.plan(g, own)
    if any(isinstance(node, Call) and node.name == "strtok" for clause in own for node in nodes(clause)):
        tokens.reserve(g)


def _local_variables(g: Generation, planned: Sequence[Planned]) -> list[Variable]:
    """Those of all clauses, each with its place; what a loop uses is in memory, and what is pointed to."""
    g.in_memory = loops.variables(clause for clause, _ in planned)
    found: dict[Variable, None] = {}
    for clause, *_ in planned:
        for node in nodes(clause):
            if isinstance(node, Var) and node.variable.scope == "this":
                found[node.variable] = None
    for variable in found:
        local_place(g, variable)
    return list(found)


def _set_up(g: Generation, setup: int, body: int, variables: Sequence[Variable]) -> None:
    """Code between entry and clauses, made last, when it is known what they need, but laid out where it runs."""
    blocks = g.b.function.blocks
    start = len(blocks)
    g.b.place(setup)
    if g.shared.has_functions and isinstance(g.context.probes[0].firing, KernelFunction):
        _require_alone(g)
    if g.scratch.base is not None:
        _take_frame(g)
    if g.shared.has_functions:
        g.b.atomic_add(_running(g), 0, Imm(1))
    turns.begin(g)
    carried.set_up(g)
    if g.tokens is not None:
        tokens.set_up(g)
    for variable in variables:
        place = g.locals[variable]
        if isinstance(place, HeldInRegister):
            g.b.move(place.register, Imm(0))
        else:
            assert isinstance(place, Memory)
            zero(g, place, object_size(g.shared, variable.type))
    g.b.jump(body)
    made = blocks[start:]
    del blocks[start:]
    at = next(index for index, block in enumerate(blocks) if block.number == body)
    blocks[at:at] = made


def _running(g: Generation) -> Reg:
    """The address of the number of this session's programs that run on this CPU (never NULL, but to be tested)."""
    key = g.b.slot(8)
    g.b.store(key, 0, 8, Imm(0))
    name = g.shared.maps.add(MapSpec("running", kinds.PERCPU_ARRAY, 4, 8, 1))
    running = g.call("map_lookup_elem", MapDescriptor(name), SlotAddress(key))
    g.b.release(key)
    g.b.branch("eq", running, Imm(0), g.leave)
    return running


def _require_alone(g: Generation) -> None:
    """Leave if another program of the session runs on this CPU: a function that it calls itself, with a lock of the
    ring buffer held maybe, is no business of a probe, and to wait for that lock would be for ever."""
    alone = g.b.label()
    g.b.branch("eq", g.b.load(_running(g), 0, 8), Imm(0), alone)
    g.count("nested")
    g.b.jump(g.leave)
    g.b.place(alone)


def frames_of(probes: Iterable[Probe]) -> int:
    """How many frames each CPU has: the programs of uprobes and fentry run with preemption, only kept on their CPU."""
    preemptible = (StaticPattern, StaticProbe, Uprobe, KernelFunction)
    return PREEMPTIBLE_FRAMES if any(isinstance(each.firing, preemptible) for each in probes) else FRAMES


def _take_frame(g: Generation) -> None:
    """The first of this CPU's frames that is not in use. Their first word says so, and is exchanged: firings do not end
    in the order in which they began where one thread's program is preempted for another's."""
    assert g.scratch.base is not None
    frames = g.shared.frames
    # The kernel's own arrays by CPU hold at most 32 KiB (PCPU_MIN_UNIT_SIZE, include/linux/percpu.h).
    g.shared.maps.add(MapSpec(SCRATCH, kinds.ARRAY, 4, 8, frames, by_cpu="any"))
    g.shared.maps.resize(SCRATCH, max(g.scratch.size, g.shared.maps.specs[SCRATCH].value_size))
    key, taken = g.b.slot(8), g.b.label()
    first = g.b.alu("mul", g.call("get_smp_processor_id", pure="cpu"), Imm(frames))
    for number in range(frames):
        g.b.store(key, 0, 8, g.b.alu("add", first, Imm(number)))
        g.b.move(g.scratch.base, g.call("map_lookup_elem", MapDescriptor(SCRATCH), SlotAddress(key)))
        g.b.branch("eq", g.scratch.base, Imm(0), g.leave)
        g.b.branch("eq", _hold(g, g.scratch.base), Imm(0), taken)
    g.count("nested")
    g.b.jump(g.leave)
    g.b.place(taken)
    g.b.release(key)


def _hold(g: Generation, frame: Reg) -> Operand:
    """Say that a frame is in use; whether it was so before. Without an exchange this is right if firings only nest."""
    if not kernels.has_exchange(g):
        held = g.b.load(frame, 0, 8)
        g.b.store(frame, 0, 8, Imm(1))
        return held
    held = g.b.register()
    g.b.emit(Atomic("xchg", frame, 0, 8, g.b.copy(Imm(1)), held))
    return held


def _leave(g: Generation) -> None:
    """The end of every firing that got past the entry."""
    if g.shared.has_functions:
        g.b.atomic_add(_running(g), 0, Imm(-1))
    if g.scratch.base is not None:
        g.b.store(g.scratch.base, 0, 8, Imm(0))
    g.b.ret(g.result if g.sampled is None else g.sampled)


def _place_leave(g: Generation) -> None:
    g.b.place(g.leave)
    g.b.ret(g.result)
