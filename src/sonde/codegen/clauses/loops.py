"""Loops: bpf_loop() calls the body, which is a function of its own, again and again.

The verifier looks at such a function once, however often it will run, so neither the number of iterations nor what the
body does multiplies its work, as it does where a program jumps backwards. All loops of a firing end, since they share a
number of turns (`turns.py`); one that would go on then is a fault.

What body and surrounding code share is in memory. Pointers that the verifier must know as such are in a stack slot of
the outermost function, whose address bpf_loop() passes on; numbers are in the scratch frame, where it does not follow
them from one iteration to the next. So are clause-local variables that a loop uses. Registers that belong to the
clause are stored where a function is entered or left, and loaded on the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from sonde.codegen.basis.clause_state import FaultExit, LoopBody, Scratch
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.clauses import deferral, turns
from sonde.codegen.clauses import elements as clauses_elements
from sonde.codegen.expressions import clock, elements
from sonde.codegen.intermediate.ir import CallArgument, FunctionAddress, Imm, Reg, SlotAddress
from sonde.codegen.records.parts import Looping, Parts
from sonde.model import program as tree
from sonde.model.inlining import returns
from sonde.model.program import Clause, Variable
from sonde.model.walk import below, nodes

_OUTCOME, _CODE, _VALUE, _PC, _CLOCK, _EXITED, _SPECULATION, _SAMPLED, _TOP, _ALLOCATED, _PROGRESS, _SIZE = range(
    0, 96, 8
)
"""Offsets in the shared memory."""

_DONE, _FINISHED, _FAULTED, _RETURNED = range(4)
"""Outcomes of a loop: it is over, the clause is over, it faulted, the inlined function that it stands in is over."""


def variables(clauses: Iterable[Clause]) -> set[Variable]:
    """The clause-local variables that loops use, and those whose address is taken."""
    all_nodes = (node for clause in clauses for node in nodes(clause))
    within = (node for node in all_nodes if isinstance(node, (*turns.LOOPS, tree.AddressOf)))
    found = (node for each in within for node in below(each) if isinstance(node, tree.Var))
    return {node.variable for node in found if node.variable.scope == "this"}


def generate(g: Generation, part: Looping, parts: Callable[[Generation, Parts], None]) -> None:
    """The loop; `parts` generates what is in it."""
    require_loops(g, "loops", part.statement.position)
    g.release_temporaries()
    memory = g.loop.memory if g.loop else g.lasting(_SIZE)
    reading = clock.reading(g) if clock.is_used(part.statement) else None
    if reading is not None:
        g.b.store(memory.base, memory.offset + _CLOCK, 8, reading)
    name = _function(g, part, parts, memory, reading is not None)
    g.b.store(memory.base, memory.offset + _OUTCOME, 8, Imm(_DONE))
    _save(g, memory)
    with _environment(g) as environment:
        _call(g, part, name, environment)
    _restore(g, memory)
    # The body may have made this thread's variables.
    g.storage_version += 1
    _follow(g, memory, returns(part.statement.body))


def _call(g: Generation, part: Looping, name: str, environment: CallArgument) -> None:
    if isinstance(part.statement, tree.Loop):
        g.call("loop", Imm(g.shared.settings.maxloop + 1), FunctionAddress(name), environment, Imm(0))
        return

    function = FunctionAddress(name)
    elements.in_map(g, part.statement.of, lambda map_: g.call("for_each_map_elem", map_, function, environment, Imm(0)))


@contextmanager
def _environment(g: Generation) -> Iterator[CallArgument]:
    """The stack slot with the pointers, which an inner loop has from the outer one."""
    if g.loop is not None:
        yield g.loop.environment
        return
    assert g.scratch.base is not None
    shared = (g.ctx, g.scratch.base, g.probe_index, *g.parameters[1:])
    slot = g.b.slot(8 * len(shared))
    for number, value in enumerate(shared):
        g.b.store(slot, 8 * number, 8, value)
    yield SlotAddress(slot)
    g.b.release(slot)


def _save(g: Generation, memory: Memory) -> None:
    """Store the clause's registers before control goes to another function."""
    for offset, register in _registers(g):
        g.b.store(memory.base, memory.offset + offset, 8, register)


def _restore(g: Generation, memory: Memory) -> None:
    for offset, register in _registers(g):
        g.b.move(register, g.b.load(memory.base, memory.offset + offset, 8))


def _registers(g: Generation) -> list[tuple[int, Reg]]:
    found = [
        (_EXITED, g.has_exited), (_SPECULATION, g.speculation), (_SAMPLED, g.sampled),
        (_TOP, g.region.top if g.region else None), (_PROGRESS, g.done),
    ]  # fmt: skip
    return [(offset, register) for offset, register in found if register is not None]


def _follow(g: Generation, memory: Memory, may_return: bool) -> None:
    """Where control goes behind the loop."""
    outcome = g.b.load(memory.base, memory.offset + _OUTCOME, 8)
    over, other = g.b.label(), g.b.label()
    g.b.branch("eq", outcome, Imm(_DONE), over, other)
    g.b.place(other)
    if may_return:
        returned, other = g.b.label(), g.b.label()
        g.b.branch("eq", outcome, Imm(_RETURNED), returned, other)
        g.b.place(returned)
        # An outer loop may go on behind the function.
        g.b.store(memory.base, memory.offset + _OUTCOME, 8, Imm(_DONE))
        g.b.jump(g.returned)
        g.b.place(other)
    if g.loop is not None:
        g.b.jump(g.loop.stop)
    else:
        g.b.branch("eq", outcome, Imm(_FINISHED), g.finish)
        assert g.fault is not None
        for offset, register in ((_CODE, g.fault.code), (_VALUE, g.fault.value), (_PC, g.fault.pc)):
            g.b.move(register, g.b.load(memory.base, memory.offset + offset, 8))
        g.b.jump(g.fault.label)
    g.b.place(over)


def _function(
    g: Generation, part: Looping, parts: Callable[[Generation, Parts], None], memory: Memory, reads_clock: bool
) -> str:
    """The function of one iteration, (number, environment), of elements (map, key, value, environment): 1 to stop, 0 to
    go on. Gives its name."""
    name = f"{g.b.function.name}_loop{len(g.subprograms) + 1}"
    body = Generation(
        name, g.context, g.shared, g.handlers, parameters=2 if isinstance(part.statement, tree.Loop) else 4
    )
    *element, environment = body.b.function.parameters
    _inherit(g, body, environment, memory)
    assert body.loop is not None
    if reads_clock:
        body.clock = body.b.in_register(body.b.load(body.loop.memory.base, memory.offset + _CLOCK, 8))
    _restore(body, body.loop.memory)
    deferral.find_in_loop(body)
    if isinstance(part.statement, tree.Each):
        clauses_elements.take(body, part.statement, element[1], element[2])
    _iteration(body, part, parts)
    _ends(body)
    g.scratch.size = max(g.scratch.size, body.scratch.size)
    g.subprograms.update(body.subprograms)
    g.subprograms[name] = body
    return name


def _inherit(g: Generation, body: Generation, environment: Reg, memory: Memory) -> None:
    """Everything that the code of the clause looks at, as the new function finds it."""
    loaded = [body.b.in_register(body.b.load(environment, 8 * n, 8)) for n in range(2 + len(g.parameters))]
    ctx, base, index, *others = loaded
    body.parameters = (ctx, *others)
    body.probe_index = g.probe_index if isinstance(g.probe_index, Imm) else index
    body.scratch = Scratch(base, g.scratch.reserved)
    body.loop = LoopBody(body.b.label(), body.b.label(), environment, Memory(base, memory.offset))
    body.locals = {v: Memory(base, place.offset) for v, place in g.locals.items() if isinstance(place, Memory)}
    body.fault = FaultExit(body.b.label(), body.b.register(), body.b.register(), body.b.register())
    body.finish, body.returned = body.b.label(), body.b.label()
    if g.turns is not None:
        body.turns = Memory(body.parameters[4], 0) if g.is_error_routine else Memory(base, g.turns.offset)
    body.may_sleep, body.caller_at = g.may_sleep, g.caller_at
    body.deferral, body.resumed = g.deferral, g.resumed
    body.lacks = g.lacks
    body.clause, body.activity, body.mask_words, body.numbered = g.clause, g.activity, g.mask_words, g.numbered
    body.is_error_routine, body.shares_clock = g.is_error_routine, g.shares_clock
    body.has_exited = None if g.has_exited is None else body.b.register()
    body.speculation = None if g.speculation is None else body.b.register()
    body.sampled = None if g.sampled is None else body.b.register()
    body.done = None if g.done is None else body.b.register()
    body.table, body.subprograms = g.table, dict(g.subprograms)
    if g.firing_record is not None:
        body.firing_record = Memory(base, g.firing_record.offset)
    body.tokens = None if g.tokens is None else Memory(base, g.tokens.offset)
    if g.carrying is not None:
        body.carrying = g.carrying._replace(taken=Memory(base, g.carrying.taken.offset))
    body.positions = list(g.positions)
    body.b.position = g.b.position
    _inherit_region(g, body)


def _inherit_region(g: Generation, body: Generation) -> None:
    """The clause's scratch memory, whose address is a number again."""
    if g.region is None or g.region_memory is None:
        return
    assert body.loop is not None
    base, box = body.loop.memory
    memory = body.region_memory = Memory(base, g.region_memory.offset)
    body.b.store(base, box + _ALLOCATED, 8, body.address(memory))
    address = body.b.load(base, box + _ALLOCATED, 8)
    body.region = g.region._replace(memory=memory, address=address, top=body.b.register())


def _iteration(g: Generation, part: Looping, parts: Callable[[Generation, Parts], None]) -> None:
    assert g.loop is not None
    if isinstance(part.statement, tree.Loop) and part.statement.test is not None:
        begin = g.b.label()
        g.branch(part.statement.test, begin, g.loop.stop)
        g.b.place(begin)
        g.release_temporaries()
    turns.charge(g, part.statement)
    parts(g, part.body)
    g.b.place(g.loop.step)
    parts(g, part.step)
    _save(g, g.loop.memory)
    g.b.ret(Imm(0))


def _ends(g: Generation) -> None:
    """The ways out of the loop. Nothing leaves a function by `exit` or `leave`, but for the verifier."""
    assert g.loop is not None
    assert g.fault is not None
    memory = g.loop.memory
    g.b.place(g.fault.label)
    for offset, register in ((_CODE, g.fault.code), (_VALUE, g.fault.value), (_PC, g.fault.pc)):
        g.b.store(memory.base, memory.offset + offset, 8, register)
    g.b.store(memory.base, memory.offset + _OUTCOME, 8, Imm(_FAULTED))
    g.b.jump(g.loop.stop)
    for label, outcome in ((g.finish, _FINISHED), (g.returned, _RETURNED)):
        g.b.place(label)
        g.b.store(memory.base, memory.offset + _OUTCOME, 8, Imm(outcome))
        g.b.jump(g.loop.stop)
    g.b.place(g.exit)
    g.b.place(g.leave)
    g.b.place(g.loop.stop)
    _save(g, memory)
    g.b.ret(Imm(1))
