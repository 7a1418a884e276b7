"""The direct caller of a process's function where frame pointers do not lead to it.

Before a function has made its frame, and in one that makes none, the frame pointer is that of its caller, and a walk
along frame pointers has the caller's caller next. But at a function's first instruction the return address is at the
stack pointer, and at others frame descriptions say how far above it (`ReturnPlace`).

From Linux 6.11 on the kernel itself adds what is at the stack pointer, at an instruction
that a function begins with (`arch/`: instructions); which one it is stands in the thread's uprobe_task.
"""

from __future__ import annotations

from functools import partial

from sonde.arch import instructions, registers
from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.ranges import by_index
from sonde.codegen.basis.return_places import UNKNOWN
from sonde.codegen.expressions import probed_returns
from sonde.codegen.expressions.structures import member_offset, read_member
from sonde.codegen.intermediate.ir import Imm, Operand, Reg

HELPER = "get_stack"


def caller_at(g: Generation) -> Operand:
    """Bytes from the stack pointer to the caller's address, UNKNOWN or RETURNED, at the probe that has fired."""
    return by_index(g, [(end, partial(Imm, place)) for end, place in g.caller_at]) if g.caller_at else Imm(UNKNOWN)


def user_stack(g: Generation, memory: Memory, size: int, flags: int) -> Operand:
    """At most `size` bytes of addresses, the innermost first, along frame pointers but for the direct caller; how many
    bytes there are, or a negative error."""

    def walked() -> Operand:
        return g.call(HELPER, g.ctx, g.argument_of(memory.base, memory.offset), Imm(size), Imm(flags))

    distance = caller_at(g)
    if isinstance(distance, Imm):
        return walked() if distance.value < 0 else _from_caller(g, memory, size, flags, distance)
    return g.b.choose(
        "slt", distance, Imm(0), walked, lambda: _from_caller(g, memory, size, flags, distance)
    )  # fmt: skip


def _from_caller(g: Generation, memory: Memory, size: int, flags: int, distance: Operand) -> Operand:
    """The same where it is known how far above the stack pointer the caller's address is."""
    result, missing, added, end = g.b.register(), g.b.label(), g.b.label(), g.b.label()
    stack = g.b.load(g.ctx, registers.STACK_POINTER, 8, invariant=True)
    slot = g.b.slot(8)
    address = g.b.in_register(g.b.alu("add", stack, distance))
    read = g.call("probe_read_user", g.argument_of(slot, 0), Imm(8), address)
    caller = g.b.copy(g.b.load(slot, 0, 8))
    g.b.release(slot)
    _undo_return_probe(g, address, caller)
    g.b.branch("slt", read, Imm(0), added)
    _branch_if_added(g, caller, flags, added, missing)
    g.b.place(missing)
    g.b.store(memory.base, memory.offset, 8, g.b.load(g.ctx, registers.PROGRAM_COUNTER, 8, invariant=True))
    if size > 8:
        g.b.store(memory.base, memory.offset + 8, 8, caller)
    g.b.move(result, Imm(min(size, 16)))
    if size > 16:
        rest = g.argument_of(memory.base, memory.offset + 16)
        got = g.call(HELPER, g.ctx, rest, Imm(size - 16), Imm(flags + 1))
        with g.b.when("sgt", got, Imm(0)):
            g.b.move(result, g.b.alu("add", got, Imm(16)))
    g.b.jump(end)
    g.b.place(added)
    target = g.argument_of(memory.base, memory.offset)
    g.b.move(result, g.call(HELPER, g.ctx, target, Imm(size), Imm(flags)))
    if distance != Imm(0) and size > 8:
        # The kernel has added what is at the stack pointer, whatever that is.
        with g.b.when("eq", read, Imm(0)), g.b.when("sgt", result, Imm(8)):
            g.b.store(memory.base, memory.offset + 8, 8, caller)
    g.b.place(end)
    return result


def _undo_return_probe(g: Generation, address: Reg, caller: Reg) -> None:
    """Put the true return address in the place of a trampoline's."""
    probed = None if g.shared.target.portable else probed_returns.probed_returns(g)
    if probed is None:
        return
    offsets = probed.offsets
    with g.b.when("eq", caller, probed.trampoline):
        find = f"unwind_instance_{offsets.stack}_{offsets.next}"
        found = g.routine(find, probed.innermost, address)
        with g.b.when("ne", found, Imm(0)):
            g.b.move(caller, read_member(g, found, offsets.address, 8))


def _branch_if_added(g: Generation, caller: Operand, flags: int, added: int, missing: int) -> None:
    """Whether the kernel adds an address by itself."""
    if REPLAYS in g.shared.target.features:
        # Stacks that are completed here are those of the embedded engine, which adds nothing.
        g.b.jump(missing)
        return
    if g.shared.target.portable:
        _branch_if_there(g, caller, flags, added, missing)
        return
    tasks = member_offset(g, "task_struct", "utask")
    instruction = member_offset(g, "uprobe_task", "auprobe")
    bytes_ = member_offset(g, "arch_uprobe", "insn")
    if tasks is None or instruction is None or bytes_ is None:
        g.b.jump(missing)
        return
    task = g.b.copy(g.b.load(g.current_task(), tasks, 8))
    g.b.branch("eq", task, Imm(0), missing)
    probe = g.b.copy(read_member(g, task, instruction, 8))
    g.b.branch("eq", probe, Imm(0), missing)
    word = g.b.copy(read_member(g, probe, bytes_, 4))
    push = g.b.alu("and", word, Imm(instructions.ENTRY_PUSH_BITS))
    g.b.branch("eq", push, Imm(instructions.ENTRY_PUSH), added)
    perhaps = g.b.label()
    g.b.branch("eq", word, Imm(instructions.ENTRY_MARK), perhaps, missing)
    # Not every kernel knows this one.
    g.b.place(perhaps)
    _branch_if_there(g, caller, flags, added, missing)


def _branch_if_there(g: Generation, caller: Operand, flags: int, added: int, missing: int) -> None:
    """The same on kernels that are not known: the address is the second. It may be so where a function has called
    itself twice, too."""
    found = g.temporary(16)
    g.call(HELPER, g.ctx, g.argument_of(found.base, found.offset), Imm(16), Imm(flags))
    g.b.branch("eq", g.b.load(found.base, found.offset + 8, 8), caller, added, missing)
