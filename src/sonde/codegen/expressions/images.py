"""Who a user address belongs to: the process and, in the upper half, the mark of what it executes.

A pid alone does not tell: the process may have executed another program by the time its addresses are named, and other
processes get its pid. At each exec the kernel maps the vdso at another random page, which is in the reach of programs
(mm_struct, context.vdso) and in what perf and /proc tell of mappings. Where addresses are not randomised, or one
library takes the place of another, the page stays: the process's generation is added, which the engine counts up with
each mapping of code (`named_maps.GENERATIONS`).
"""

from __future__ import annotations

from sonde.arch import pages
from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.basis.identity import process
from sonde.codegen.expressions.structures import member_offset, read_member
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, SlotAddress
from sonde.model.named_maps import GENERATION_OFFSETS, GENERATION_PLACES, GENERATION_SLOTS, GENERATIONS
from sonde.model.spec import MapSpec

_TO_UPPER_HALF = 20
"""From the bits of an address above those within a page to the upper half."""


def image(g: Generation) -> Operand:
    """`symbols/images.py` says what the number means. The mark is 0 where programs have to run on kernels that may have
    the vdso elsewhere, and in threads that have no memory of their own."""
    if REPLAYS in g.shared.target.features:
        return g.call("firing_image", pure="image")
    offsets = _offsets(g)
    if offsets is None:
        return process(g)

    memory = g.b.load(g.current_task(), offsets[0], 8, invariant=True)
    vdso = g.b.choose("eq", memory, Imm(0), lambda: Imm(0), lambda: read_member(g, memory, offsets[1], 8))
    mark = g.b.alu("lsh", g.b.alu("and", vdso, Imm(-pages.PAGE)), Imm(_TO_UPPER_HALF))
    if _counts_generations(g):
        mark = g.b.alu("add", mark, g.b.alu("lsh", _generation(g), Imm(32)))
    return g.b.alu("or", mark, process(g))


def _counts_generations(g: Generation) -> bool:
    """Whether an engine may count them; has it do so. The kernel tells of each change of mappings since Linux 6.1
    (maple_tree:ma_write). In a pid namespace events of mappings have other numbers than slots."""
    if not g.shared.target.initial_namespace:
        return False
    offsets = (
        member_offset(g, "task_struct", "mm"),
        member_offset(g, "mm_struct", "mm_mt"),
        member_offset(g, "ma_state", "tree"),
        member_offset(g, "vm_area_struct", "vm_flags"),
    )
    known = [each for each in offsets if each is not None]
    if g.shared.settings.records or len(known) < len(offsets):
        return False
    g.shared.maps.table(GENERATION_PLACES, GENERATION_OFFSETS.pack(*known))
    return True


def _generation(g: Generation) -> Operand:
    """That of the running process's slot."""
    pool, key = g.shared.maps, g.b.slot(8)
    name = pool.add(MapSpec(GENERATIONS, kinds.ARRAY, 4, 4, GENERATION_SLOTS))
    number = g.b.alu("rsh", g.call("get_current_pid_tgid", pure="kernel_pid"), Imm(32))
    g.b.store(key, 0, 8, g.b.alu("and", number, Imm(GENERATION_SLOTS - 1)))
    found = g.call("map_lookup_elem", MapDescriptor(name), SlotAddress(key))
    g.b.release(key)
    return g.b.choose("eq", found, Imm(0), lambda: Imm(0), lambda: g.b.load(found, 0, 4))


def _offsets(g: Generation) -> tuple[int, int] | None:
    """Where task_struct has `mm` and mm_struct has `context.vdso`, in bytes."""
    if g.shared.target.portable or not g.shared.settings.marks_images:
        return None
    memory, vdso = member_offset(g, "task_struct", "mm"), member_offset(g, "mm_struct", "context", "vdso")
    return (memory, vdso) if memory is not None and vdso is not None else None
