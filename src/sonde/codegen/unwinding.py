"""User stacks without frame pointers: the walk of `routines/unwinding.py` from the registers that the process had."""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.codegen import callers
from sonde.codegen.access import zero
from sonde.codegen.context import registers
from sonde.codegen.generation import Generation
from sonde.codegen.identity import process
from sonde.codegen.ir import Imm, MapDescriptor, Operand, Reg, Slot, SlotAddress
from sonde.codegen.places import Memory
from sonde.codegen.routines import unwinding
from sonde.spec import UNWIND_MAPPINGS, UNWIND_PAGE, UNWIND_PROCESSES, UNWIND_ROWS, UNWIND_WANTED, MapSpec

_ROW_PAGES, _MAPPING_PAGES, _PROCESSES, _WANTED = 4096, 512, 8192, 1024
"""Room for a million rows, 65,536 mappings and so many processes."""


def user_stack(g: Generation, memory: Memory, size: int, flags: int) -> Operand:
    """At most `size` bytes of addresses, the innermost first, zeros behind them; how many bytes there are.

    A process whose mappings are not known yet is noted for the session, and its frame pointers are followed, by the
    helper get_stack with these `flags`.
    """
    result = g.b.copy(Imm(0))
    work = g.framed(unwinding.FRAMES + size)
    key = g.b.slot(8)
    g.b.store(key, 0, 8, process(g))
    pool = g.shared.maps
    pool.add(MapSpec(UNWIND_MAPPINGS, kinds.ARRAY, 4, UNWIND_PAGE, _MAPPING_PAGES))
    pool.add(MapSpec(UNWIND_ROWS, kinds.ARRAY, 4, UNWIND_PAGE, _ROW_PAGES))
    processes = pool.add(MapSpec(UNWIND_PROCESSES, kinds.HASH, 8, 8, _PROCESSES))
    found = g.call("map_lookup_elem", MapDescriptor(processes), SlotAddress(key))
    known, end = g.b.label(), g.b.label()
    g.b.branch("ne", found, Imm(0), known)
    _want(g, key)
    g.b.move(result, callers.user_stack(g, memory, size, flags))
    g.b.jump(end)
    g.b.place(known)
    _walk(g, found, work, size)
    with g.b.when("ne", g.b.load(work.base, work.offset + unwinding.MISSED, 8), Imm(0)):
        _want(g, key)
    frames = g.argument_of(work.base, work.offset + unwinding.FRAMES)
    g.call("probe_read_kernel", g.argument_of(memory.base, memory.offset), Imm(size), frames)
    g.b.move(result, g.b.alu("lsh", g.b.load(work.base, work.offset + unwinding.COUNT, 8), Imm(3)))
    g.b.place(end)
    g.b.release(key)
    return result


def _want(g: Generation, key: Slot) -> None:
    """Have the session look at the process."""
    one = g.b.slot(8)
    g.b.store(one, 0, 8, Imm(1))
    wanted = g.shared.maps.add(MapSpec(UNWIND_WANTED, kinds.HASH, 8, 8, _WANTED))
    g.call("map_update_elem", MapDescriptor(wanted), SlotAddress(key), SlotAddress(one), Imm(0))
    g.b.release(one)


def _walk(g: Generation, mappings: Reg, work: Memory, size: int) -> None:
    """Put the walk's state together and run it."""
    first, count = g.b.load(mappings, 0, 4), g.b.load(mappings, 4, 4)
    saved = g.call("task_pt_regs", g.current_task(), pure="registers")
    counter = g.b.load(saved, registers.IP, 8, invariant=True)
    values = {
        unwinding.PC: counter,
        unwinding.SP: g.b.load(saved, registers.SP, 8, invariant=True),
        unwinding.BP: g.b.load(saved, registers.BP, 8, invariant=True),
        unwinding.LOOK: counter,
        unwinding.COUNT: Imm(0),
        unwinding.FIRST: first,
        unwinding.MAPPINGS: count,
        unwinding.MISSED: Imm(0),
    }
    for word, value in values.items():
        g.b.store(work.base, work.offset + word, 8, value)
    zero(g, Memory(work.base, work.offset + unwinding.FRAMES), size)
    g.routine(f"unwind_{size // 8}", g.address(work))
