"""Register allocation: priority-based colouring of the interference graph (Chow and Hennessy 1990).

Registers that live across a call can only have r6 to r9, the others any of r0 to r9. The most used for their length of
life choose first, each preferring the register its copies and calls want it in. Those that find none live on the stack,
in a slot with others that do not live at the same time; r0 and r5 are then kept out of the allocation, to load and
store them with.
"""

from __future__ import annotations

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.ir import BpfFunction, Reg
from sonde.codegen.intermediate.liveness import live_out, touched
from sonde.codegen.intermediate.stack_addresses import operands, stack_addresses
from sonde.typed import NamedTuple

CALLEE_SAVED = (6, 7, 8, 9)
SCRATCH = (0, 5)
_ORDER = (1, 2, 3, 4, 5, 0, 6, 7, 8, 9)
_ORDERED = ("sub", "div", "mod", "sdiv", "smod", "lsh", "rsh", "arsh")


class Allocation(NamedTuple):
    """`registers` maps virtual to machine registers, `spilled` those that live on the stack to the numbers of their
    8-byte slots. `addresses` are those that hold addresses in the stack."""

    registers: dict[Reg, int]
    spilled: dict[Reg, int]
    addresses: frozenset[Reg]


class _Graph:
    """Who lives at the same time as whom, who lives across calls, and who would like which register."""

    def __init__(self) -> None:
        self.neighbours: dict[Reg, set[Reg]] = {}
        self.crossing: set[Reg] = set()
        self.no_r0: set[Reg] = set()
        self.uses: dict[Reg, int] = {}
        self.span: dict[Reg, int] = {}
        self.pinned: set[Reg] = set()
        self.wants: dict[Reg, list[int]] = {}
        self.copies: dict[Reg, list[Reg]] = {}
        self.addresses: set[Reg] = set()

    def add(self, reg: Reg) -> None:
        if reg not in self.neighbours:
            self.neighbours[reg] = set()
            self.uses[reg] = self.span[reg] = 0

    def connect(self, reg: Reg, others: set[Reg]) -> None:
        self.add(reg)
        known = self.neighbours[reg]
        added = others - known
        added.discard(reg)
        known |= added
        for other in added:
            self.add(other)
            self.neighbours[other].add(reg)

    def prefer(self, reg: Reg, machine: int) -> None:
        self.wants.setdefault(reg, []).append(machine)

    def join(self, a: Reg, b: Reg) -> None:
        self.copies.setdefault(a, []).append(b)
        self.copies.setdefault(b, []).append(a)


def allocate(function: BpfFunction) -> Allocation:
    graph = _build(function)
    allocation = _colour(graph, ())
    if not allocation.spilled:
        return allocation
    before = function.registers
    _isolate(function)
    return _colour(graph if function.registers == before else _build(function), SCRATCH)


def _isolate(function: BpfFunction) -> None:
    """Give each cmpxchg registers of its own for its address and new value: two scratch registers are too few for
    operands that may live on the stack, and what lives only from one instruction to the next can always be placed."""
    for block in function.blocks:
        code: list[tuple[ir.Instruction, int]] = []
        for instruction, position in block.code:
            if isinstance(instruction, ir.Atomic) and instruction.op == "cmpxchg":
                for name in ("base", "value"):
                    operand = getattr(instruction, name)
                    if isinstance(operand, Reg):
                        own = Reg(function.registers)
                        function.registers += 1
                        code.append((ir.Move(own, operand), position))
                        instruction = instruction._replace(**{name: own})  # type: ignore[arg-type]
            code.append((instruction, position))
        block.code = code


def _build(function: BpfFunction) -> _Graph:
    graph = _Graph()
    graph.addresses = stack_addresses(function)
    registers = touched(function)
    out = live_out(function, registers)
    for block in function.blocks:
        live = set(out[block.number])
        since = dict.fromkeys(live, 1)
        number = len(block.code)
        touching = registers[block.number]
        for place in range(number):
            _step(graph, block.code[~place][0], *touching[~place], live, since, place + 1)
        span = graph.span
        for reg in live:
            if reg not in span:
                graph.add(reg)
            span[reg] += number - since[reg] + 1
    for number, reg in enumerate(function.parameters):
        graph.add(reg)
        graph.connect(reg, set(function.parameters))
        graph.prefer(reg, number + 1)
        graph.no_r0.add(reg)
    return graph


def _step(
    graph: _Graph, instruction: ir.Instruction, target: Reg | None, used: list[Reg], live: set[Reg],
    since: dict[Reg, int], number: int,
) -> None:  # fmt: skip
    """Take one instruction, backwards: `live` is what is live behind it, then before it, `since` the numbers of the
    instructions at which that began."""
    kind = type(instruction)
    if target is not None:
        if target in live:
            live.discard(target)
            graph.add(target)
            graph.span[target] += number - since[target]
        copied = instruction.src if isinstance(instruction, ir.Move) else None
        graph.connect(target, live - {copied} if isinstance(copied, Reg) else live)
        graph.uses[target] += 1
        if isinstance(copied, Reg):
            graph.join(target, copied)
    if kind is ir.Call or kind is ir.CallLocal:
        graph.crossing |= live
    uses = graph.uses
    for reg in used:
        if reg not in uses:
            graph.add(reg)
        uses[reg] += 1
    if kind in _CONSTRAINED:
        _constrain(graph, instruction, live)
    for reg in used:
        if reg not in live:
            live.add(reg)
            since[reg] = number


_CONSTRAINED = frozenset((ir.Alu, ir.Extend, ir.Swap, ir.Call, ir.CallLocal, ir.Atomic, ir.Return))


def _constrain(graph: _Graph, instruction: ir.Instruction, live: set[Reg]) -> None:
    """What the form of the machine instruction forbids or makes cheap."""
    if isinstance(instruction, ir.Alu):
        left, right = operands(instruction, graph.addresses)
        graph.join(instruction.dst, left)
        if (instruction.op in _ORDERED or left in graph.addresses) and isinstance(right, Reg) and right != left:
            graph.connect(instruction.dst, {right})
    elif isinstance(instruction, (ir.Extend, ir.Swap)):
        graph.join(instruction.dst, instruction.src)
    elif isinstance(instruction, (ir.Call, ir.CallLocal)):
        if instruction.dst is not None:
            graph.prefer(instruction.dst, 0)
        for number, argument in enumerate(instruction.arguments):
            if isinstance(argument, Reg):
                graph.prefer(argument, number + 1)
    elif isinstance(instruction, ir.Atomic):
        _constrain_atomic(graph, instruction, live)
    elif isinstance(instruction, ir.Return) and isinstance(instruction.value, Reg):
        graph.prefer(instruction.value, 0)


def _constrain_atomic(graph: _Graph, instruction: ir.Atomic, live: set[Reg]) -> None:
    """The fetched value comes back in the source register; cmpxchg compares with r0 and returns in it."""
    fixed = {r for r in (instruction.base, instruction.value) if isinstance(r, Reg)}
    if instruction.op == "cmpxchg":
        graph.no_r0 |= live | fixed
        graph.pinned |= fixed
    if instruction.fetched is not None and isinstance(instruction.base, Reg):
        graph.connect(instruction.fetched, {instruction.base})
        if instruction.value in live:
            graph.connect(instruction.fetched, {instruction.value})


def _colour(graph: _Graph, reserved: tuple[int, ...]) -> Allocation:
    registers: dict[Reg, int] = {}
    spilled = []

    def priority(reg: Reg) -> tuple[bool, float]:
        return reg in graph.pinned, graph.uses[reg] / (graph.span[reg] + 1)

    for reg in sorted(graph.neighbours, key=priority, reverse=True):
        taken = {registers[n] for n in graph.neighbours[reg] if n in registers}
        if reg in graph.crossing:
            free = [m for m in CALLEE_SAVED if m not in taken]
        else:
            free = [m for m in _ORDER if m not in taken and m not in reserved]
        if reg in graph.no_r0 and 0 in free:
            free.remove(0)
        if not free:
            spilled.append(reg)
            continue
        wanted = [registers[c] for c in graph.copies.get(reg, ()) if c in registers] + graph.wants.get(reg, [])
        registers[reg] = next((m for m in wanted if m in free), free[0])
    return Allocation(registers, _slots(graph, spilled), frozenset(graph.addresses))


def _slots(graph: _Graph, spilled: list[Reg]) -> dict[Reg, int]:
    """The first slot for each that no other one has that lives at the same time."""
    slots: dict[Reg, int] = {}
    for reg in spilled:
        taken = {slots[other] for other in graph.neighbours[reg] if other in slots}
        slots[reg] = next(number for number in range(len(spilled)) if number not in taken)
    return slots
