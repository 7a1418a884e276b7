"""What code is generated otherwise, or not at all, for older kernels."""

from __future__ import annotations

from sonde.codegen.generation import Generation, Unsupported
from sonde.lang.errors import Position
from sonde.target.target import is_older

_LOOPS_SINCE = (5, 17)
"""The first kernel with bpf_loop."""

_PADDED_SINCE = (5, 17)
"""The first kernel that pads a thread's name with zeros (__set_task_comm, fs/exec.c)."""


def has_loops(g: Generation) -> bool:
    """Whether the kernel has bpf_loop, for all that is known."""
    return not is_older(g.shared.target, _LOOPS_SINCE)


def require_loops(g: Generation, what: str, position: Position) -> None:
    """Refuse what is in D where the kernel has no helper for its loop."""
    if not has_loops(g):
        raise Unsupported(f"{what} before Linux {'.'.join(map(str, _LOOPS_SINCE))}", position)


def pads_names(g: Generation) -> bool:
    """Whether there are but zeros behind the NUL of a thread's name."""
    return not is_older(g.shared.target, _PADDED_SINCE)
