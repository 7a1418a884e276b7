"""Functions of the thread whose return is probed: the kernel has put the address of a trampoline in the place of their
return address, and keeps the true one in a struct return_instance (linux/uprobes.h).

It hears of a return only. A function that longjmp has left stays among them until another one with a probed return is
entered, so one is asked for only where a trampoline's address stands.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions.structures import member_offset, read_member
from sonde.codegen.intermediate.ir import Imm, Reg
from sonde.codegen.routines.mapped_files import ReturnOffsets
from sonde.typed import NamedTuple


class ProbedReturns(NamedTuple):
    """The innermost struct return_instance and the address of the trampoline, 0 each if there is none."""

    innermost: Reg
    trampoline: Reg
    offsets: ReturnOffsets


def probed_returns(g: Generation) -> ProbedReturns | None:
    """Those of the current thread; None if this kernel has them elsewhere."""
    found = (
        member_offset(g, "task_struct", "utask"),
        member_offset(g, "uprobe_task", "return_instances"),
        member_offset(g, "task_struct", "mm"),
        member_offset(g, "mm_struct", "uprobes_state", "xol_area"),
        member_offset(g, "xol_area", "vaddr"),
        member_offset(g, "return_instance", "stack"),
        member_offset(g, "return_instance", "orig_ret_vaddr"),
        member_offset(g, "return_instance", "next"),
    )
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    of_thread, first, space, area, address, *rest = known
    innermost, trampoline = g.b.copy(Imm(0)), g.b.copy(Imm(0))
    task = g.b.copy(g.b.load(g.current_task(), of_thread, 8))
    with g.b.when("ne", task, Imm(0)):
        g.b.move(innermost, read_member(g, task, first, 8))
        memory = g.b.copy(g.b.load(g.current_task(), space, 8))
        with g.b.when("ne", memory, Imm(0)):
            slots = g.b.copy(read_member(g, memory, area, 8))
            with g.b.when("ne", slots, Imm(0)):
                g.b.move(trampoline, read_member(g, slots, address, 8))
    return ProbedReturns(innermost, trampoline, ReturnOffsets(*rest))
