"""Kernel and user stacks, written by the helper straight where they are wanted."""

from __future__ import annotations

from sonde.codegen.access import store, zero
from sonde.codegen.generation import Generation
from sonde.codegen.identity import process
from sonde.codegen.ir import Imm
from sonde.codegen.places import Memory
from sonde.codegen.shapes import frames_of, glue_frames
from sonde.lang.program import StackTrace

USER_STACK = 1 << 8
"""BPF_F_USER_STACK (include/uapi/linux/bpf.h)."""


def stack_into(g: Generation, e: StackTrace, memory: Memory) -> None:
    """The addresses, zeros behind them (the helper clears what it does not fill); a user stack behind the process.

    BEGIN, END and ERROR are fired by the session: the kernel's way to them is nobody's business.
    """
    frames = frames_of(e, g.shared.settings)
    size = 8 * (frames if e.is_user or g.clause is None else frames + glue_frames(g.clause.probes))
    if e.is_user:
        store(g, memory, 8, process(g))
        memory = Memory(memory.base, memory.offset + 8)
    elif not g.context.has_kernel_stack:
        zero(g, memory, size)
        return
    target = g.argument_of(memory.base, memory.offset)
    g.call("get_stack", g.ctx, target, Imm(size), Imm(USER_STACK if e.is_user else g.context.own_frames))
