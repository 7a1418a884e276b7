"""Who is running: process and thread, as sonde's own pid namespace numbers them.

Whatever later looks a process up in /proc, a user stack for instance, needs these numbers, not the kernel's own.
"""

from __future__ import annotations

from sonde.codegen.generation import Generation
from sonde.codegen.ir import Imm, Operand


def identity(g: Generation) -> Operand:
    """Process in the upper half, thread in the lower."""
    if g.shared.target.initial_namespace:
        return g.call("get_current_pid_tgid", pure="pid")
    return g.routine("namespace_pid", pure="pid")


def process(g: Generation) -> Operand:
    """The process alone."""
    return g.b.alu("rsh", identity(g), Imm(32))
