"""What D programs see of the processor: `curcpu`, and the registers of the process in `uregs[]`."""

from __future__ import annotations

from sonde.arch import languages
from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, SlotAddress
from sonde.model import program as tree
from sonde.model.spec import MapSpec
from sonde.model.types import Struct

CPUINFO_SIZE = 16
"""cpuinfo_t of the library sched.d: cpu_id, cpu_pset, cpu_chip, cpu_lgrp, each an int."""


def cpu_place(g: Generation) -> Memory:
    """A cpuinfo_t of this CPU, in temporary memory."""
    memory = g.temporary(CPUINFO_SIZE)
    cpu = g.cpu_number()
    g.b.store(memory.base, memory.offset, 4, cpu)
    g.b.store(memory.base, memory.offset + 4, 4, Imm(0))
    g.b.store(memory.base, memory.offset + 8, 4, _chip(g, cpu))
    g.b.store(memory.base, memory.offset + 12, 4, g.call("get_numa_node_id", pure="node"))
    return memory


def _chip(g: Generation, cpu: Operand) -> Operand:
    """The physical package, from a table that the engine fills in."""
    table = g.shared.maps.add(MapSpec("chips", kinds.ARRAY, 4, 8, 1, kinds.F_RDONLY_PROG, by_cpu="chip"))
    key = g.b.slot(8)
    g.b.store(key, 0, 8, cpu)
    found = g.call("map_lookup_elem", MapDescriptor(table), SlotAddress(key))
    g.b.release(key)
    return g.b.choose("ne", found, Imm(0), lambda: g.b.load(found, 0, 4), lambda: Imm(0))


def user_register(g: Generation, e: tree.Index) -> Operand:
    """uregs[constant]: the registers the process had when it last entered the kernel."""
    assert isinstance(e.subscript, tree.Const)
    number = e.subscript.value
    if number not in languages.OUTSIDE:
        saved = g.call("task_pt_regs", g.current_task(), pure="registers")
        return g.b.load(saved, 8 * number, 8, invariant=True)
    task = g.shared.kernel_type("struct", "task_struct")
    thread = task.find("thread") if isinstance(task, Struct) else None
    state = g.shared.kernel_type("struct", "thread_struct")
    name, size = languages.OUTSIDE[number]
    member = state.find(name) if isinstance(state, Struct) else None
    if thread is None or member is None:
        raise Unsupported(f"uregs[{number}] on this kernel", e.position)
    return g.b.load(g.current_task(), (thread.offset + member.offset) // 8, size, invariant=True)
