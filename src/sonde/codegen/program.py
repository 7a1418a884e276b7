"""One BPF program: what every firing does first and last, and the clauses between.

The state of the session is checked, the context adapter finds out which probe it is, scratch memory is taken if
anything needs it (a frame for each level of nesting on this CPU, so that a firing inside a firing has its own), then
come the clauses, each behind its bit of the probe's mask where not all probes have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import maps as kinds
from sonde.codegen import clauses, loops, records
from sonde.codegen.access import zero
from sonde.codegen.clauses import ERROR_ROUTINE, Planned
from sonde.codegen.generation import Context, Generation, Shared
from sonde.codegen.handlers import HANDLERS
from sonde.codegen.ir import Imm, MapDescriptor, SlotAddress
from sonde.codegen.names import MASK_BITS, build_table
from sonde.codegen.places import Held, Memory
from sonde.codegen.variables import local_place, object_size
from sonde.codegen.walk import nodes
from sonde.lang.program import Var, Variable
from sonde.spec import ACTIVE, DRAINING, INACTIVE, MapSpec

LEVELS = 3
"""Firings that can be nested on one CPU: thread, interrupt, and one more for safety."""

_ACTIVITY = {"BEGIN": INACTIVE, "END": DRAINING}


def generate(name: str, context: Context, planned: Sequence[Planned], shared: Shared) -> Generation:
    """The program that runs these clauses for the context's probes."""
    g = Generation(name, context, shared, HANDLERS)
    setup, body = g.b.label(), g.b.label()
    bits = _partial_clauses(g, planned)
    _check_activity(g)
    g.probe_index = context.enter(g)
    g.b.jump(setup)
    g.b.place(body)
    variables = _local_variables(g, planned)
    for item in planned:
        clauses.generate(g, item, bits.get(item[0].id))
    g.b.place(g.exit)
    _leave(g)
    _set_up(g, setup, body, variables)
    _place_leave(g)
    return g


def generate_error_routine(context: Context, planned: Sequence[Planned], shared: Shared) -> Generation:
    """The subprogram (ctx, epid, pc, code, value) that a fault calls: ERROR clauses, then the fault's own record."""
    g = Generation(ERROR_ROUTINE, context, shared, HANDLERS, parameters=5)
    g.is_error_routine = True
    setup, body = g.b.label(), g.b.label()
    g.b.jump(setup)
    g.b.place(body)
    variables = _local_variables(g, planned)
    for item in planned:
        clauses.generate(g, item, None)
    g.b.place(g.exit)
    parameters = g.b.function.parameters
    records.submit_fault(g, parameters[1], parameters[2:])
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
    if g.shared.settings.cpu is not None:
        g.b.branch("ne", g.call("get_smp_processor_id", pure="cpu"), Imm(g.shared.settings.cpu), g.leave)


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
    if len(g.context.probes) > 1:
        g.shared.maps.table(g.table, build_table(g, bits))
    return partial


def _local_variables(g: Generation, planned: Sequence[Planned]) -> list[Variable]:
    """Those of all clauses, each with its place; what a loop uses is in memory."""
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
    if g.scratch.base is not None:
        _take_frame(g)
    for variable in variables:
        place = g.locals[variable]
        if isinstance(place, Held):
            g.b.move(place.register, Imm(0))
        else:
            assert isinstance(place, Memory)
            zero(g, place, object_size(g.shared, variable.type))
    g.b.jump(body)
    made = blocks[start:]
    del blocks[start:]
    at = next(index for index, block in enumerate(blocks) if block.number == body)
    blocks[at:at] = made


def _take_frame(g: Generation) -> None:
    assert g.scratch.base is not None
    depth = g.frame_depth()
    g.b.branch("eq", depth, Imm(0), g.leave)
    level = g.b.load(depth, 0, 4)
    free, full = g.b.label(), g.b.label()
    g.b.branch("lt", level, Imm(LEVELS), free, full)
    g.b.place(full)
    g.count("nested")
    g.b.jump(g.leave)
    g.b.place(free)
    key = g.b.slot(8)
    first = g.b.alu("mul", g.call("get_smp_processor_id", pure="cpu"), Imm(LEVELS))
    g.b.store(key, 0, 8, g.b.alu("add", first, level))
    name = "scratch"
    # The kernel's own arrays by CPU hold at most 32 KiB (PCPU_MIN_UNIT_SIZE, include/linux/percpu.h).
    g.shared.maps.add(MapSpec(name, kinds.ARRAY, 4, 8, LEVELS, by_cpu="any"))
    g.shared.maps.resize(name, max(g.scratch.size, g.shared.maps.specs[name].value_size))
    g.b.move(g.scratch.base, g.call("map_lookup_elem", MapDescriptor(name), SlotAddress(key)))
    g.b.release(key)
    g.b.branch("eq", g.scratch.base, Imm(0), g.leave)
    g.b.store(depth, 0, 4, g.b.alu("add", level, Imm(1)))


def _leave(g: Generation) -> None:
    """The end of every firing that got past the entry."""
    if g.scratch.base is not None:
        depth = g.frame_depth()
        with g.b.when("ne", depth, Imm(0)):
            g.b.store(depth, 0, 4, g.b.alu("sub", g.b.load(depth, 0, 4), Imm(1)))
    g.b.ret()


def _place_leave(g: Generation) -> None:
    g.b.place(g.leave)
    g.b.ret()
