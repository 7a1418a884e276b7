"""Who a user address belongs to: the process and, in the upper half, the mark of what it executes.

A pid alone does not tell: the process may have executed another program by the time its addresses are named, and other
processes get its pid. At each exec the kernel maps the vdso at another random page, which is in the reach of programs
(mm_struct, context.vdso) and in what perf and /proc tell of mappings.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.basis.identity import process
from sonde.codegen.expressions.structures import member_offset, read_member
from sonde.codegen.intermediate.ir import Imm, Operand

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
    from sonde.arch import pages  # programs without addresses of processes do without

    memory = g.b.load(g.current_task(), offsets[0], 8, invariant=True)
    vdso = g.b.choose("eq", memory, Imm(0), lambda: Imm(0), lambda: read_member(g, memory, offsets[1], 8))
    mark = g.b.alu("lsh", g.b.alu("and", vdso, Imm(-pages.PAGE)), Imm(_TO_UPPER_HALF))
    return g.b.alu("or", mark, process(g))


def _offsets(g: Generation) -> tuple[int, int] | None:
    """Where task_struct has `mm` and mm_struct has `context.vdso`, in bytes."""
    if g.shared.target.portable or not g.shared.settings.marks_images:
        return None
    memory, vdso = member_offset(g, "task_struct", "mm"), member_offset(g, "mm_struct", "context", "vdso")
    return (memory, vdso) if memory is not None and vdso is not None else None
