"""Who is running: process and thread, as sonde's own pid namespace numbers them.

Whatever later looks a process up in /proc, a user stack for instance, needs these numbers, not the kernel's own.
"""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.types import Struct


def identity(g: Generation) -> Operand:
    """Process in the upper half, thread in the lower."""
    if g.shared.target.initial_namespace:
        return _current(g)
    return g.routine("namespace_pid", pure="pid")


def _current(g: Generation) -> Operand:
    """As the kernel numbers them. Programs for packets have the helper since 6.10, all have had the task before."""
    task = g.shared.kernel_type("struct", "task_struct") if g.context.kind in programs.FOR_PACKETS else None
    members = [task.find(name) if isinstance(task, Struct) else None for name in ("tgid", "pid")]
    if g.shared.target.portable or None in members:
        return g.call("get_current_pid_tgid", pure="pid")
    current = g.current_task()
    thread_group, thread = (g.b.load(current, each.offset // 8, 4, invariant=True) for each in members if each)
    return g.b.alu("or", g.b.alu("lsh", thread_group, Imm(32)), thread)


def process(g: Generation) -> Operand:
    """The process alone."""
    return g.b.alu("rsh", identity(g), Imm(32))
