"""Kernel and user stacks, written by the helper straight where they are wanted."""

from __future__ import annotations

from sonde.codegen.basis import firing_records
from sonde.codegen.basis.generation import RAW_STACKS, REPLAYS, Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.basis.shapes import frames_of, glue_frames
from sonde.codegen.expressions import callers, images, unwinding
from sonde.codegen.expressions.access import store, zero
from sonde.codegen.expressions.callers import HELPER
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import firing_record
from sonde.model.program import StackTrace
from sonde.model.types import STACK, size_of

USER_STACK = 1 << 8
"""BPF_F_USER_STACK (include/uapi/linux/bpf.h)."""


def stack_into(g: Generation, e: StackTrace, memory: Memory, room: int) -> None:
    """The addresses, zeros behind them (the helper clears what it does not fill); a user stack behind the process.
    `room` bytes are for it: more than it has itself where the key of another clause has more frames.

    BEGIN, END and ERROR are fired by the session: the kernel's way to them is nobody's business.
    """
    frames = frames_of(e, g.shared.settings)
    size = 8 * (frames if e.is_user or g.clause is None else frames + glue_frames(g.clause.probes))
    if e.is_user:
        store(g, memory, 8, images.image(g))
        memory, room = Memory(memory.base, memory.offset + 8), room - 8
    if room > size:
        zero(g, Memory(memory.base, memory.offset + size), room - size)
    if not e.is_user and not g.context.has_kernel_stack and HELPER not in g.lacks:
        zero(g, memory, size)
        return
    is_mixed = e.type == STACK and g.shared.settings.python
    call_stack(g, memory, size, USER_STACK if e.is_user else 0, is_mixed)


def place(g: Generation, e: StackTrace) -> Memory:
    """A stack that is a structure, in temporary memory."""
    size = size_of(e.type)
    memory = g.framed(size)
    stack_into(g, e, memory, size)
    return memory


def call_stack(g: Generation, memory: Memory, size: int, flags: int, is_mixed: bool = False) -> Operand:
    """At most `size` bytes of addresses, the innermost first; how many bytes there are, or a negative error. With
    `is_mixed` functions of Python may stand among those of a process."""
    is_whole = g.shared.settings.has_whole_stacks and flags & USER_STACK
    if is_whole or (REPLAYS in g.shared.target.features and RAW_STACKS not in g.shared.target.features):
        # A recording has stacks as they are to be shown.
        return g.call(HELPER, g.ctx, g.argument_of(memory.base, memory.offset), Imm(size), Imm(flags))
    got = _called_stack(g, memory, size, flags, is_mixed)
    if g.firing_record is not None:
        kind = firing_record.USER_STACK if flags & USER_STACK else firing_record.KERNEL_STACK
        firing_records.piece(g, kind, Imm(size), got, memory)
        if flags & USER_STACK:
            firing_records.ask_for_stack(g)
    return got


def _called_stack(g: Generation, memory: Memory, size: int, flags: int, is_mixed: bool) -> Operand:
    # One frame is where the process is.
    if flags & USER_STACK and size > 8 and g.shared.settings.unwinds_by_tables and HELPER not in g.lacks:
        return unwinding.user_stack(g, memory, size, flags, is_mixed)
    if flags & USER_STACK:
        return callers.user_stack(g, memory, size, flags + _marks(g))
    if g.context.own_frames >= 0:
        target = g.argument_of(memory.base, memory.offset)
        return g.call(HELPER, g.ctx, target, Imm(size), Imm(g.context.own_frames + _marks(g)))
    store(g, memory, 8, g.call("get_func_ip", g.ctx))
    if size <= 8:
        return Imm(8)
    rest = g.argument_of(memory.base, memory.offset + 8)
    got = g.call(HELPER, g.ctx, rest, Imm(size - 8), Imm(0))
    return g.b.choose("sgt", got, Imm(0), lambda: g.b.alu("add", got, Imm(8)), lambda: Imm(8))


def _marks(g: Generation) -> int:
    """How many words of a stack are no addresses: where the event's sample has a call chain the helper takes the stack
    from that, with the mark (PERF_CONTEXT_KERNEL or _USER) before it (bpf_get_stack_pe, kernel/bpf/stackmap.c)."""
    return 1 if g.sampled is not None and g.shared.settings.callchain else 0
