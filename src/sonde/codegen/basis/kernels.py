"""What code is generated otherwise, or not at all, for older kernels."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.model.errors import Position
from sonde.model.target import Target, is_older

_LOOPS_SINCE = (5, 17)
"""The first kernel with bpf_loop."""

_TOTALS_SINCE = (5, 19)
"""The first kernel with bpf_map_lookup_percpu_elem."""

_EXCHANGES_SINCE = (5, 12)
"""The first kernel whose BPF has atomic instructions that give the old value."""

_FRAGMENTS_SINCE = (5, 18)
"""The first kernel with bpf_xdp_get_buff_len and bpf_xdp_load_bytes."""

_PADDED_SINCE = (5, 17)
"""The first kernel that pads a thread's name with zeros (__set_task_comm, fs/exec.c)."""

_PREPARE_EXEC_SINCE = (6, 10)
"""The first kernel with the tracepoint sched_prepare_exec, before the old memory goes (begin_new_exec, fs/exec.c)."""


def has_prepare_exec(target: Target) -> bool:
    """Whether there is a tracepoint where an exec that will succeed has its old memory still."""
    return not is_older(target, _PREPARE_EXEC_SINCE)


def has_loops(g: Generation) -> bool:
    """Whether the kernel has bpf_loop, for all that is known."""
    return not is_older(g.shared.target, _LOOPS_SINCE)


def require_loops(g: Generation, what: str, position: Position) -> None:
    """Refuse what is in D where the kernel has no helper for its loop."""
    if not has_loops(g):
        raise Unsupported(f"{what} before Linux {'.'.join(map(str, _LOOPS_SINCE))}", position)


def require_totals(g: Generation, position: Position) -> None:
    """Refuse values of aggregations where a program cannot look at those of other CPUs."""
    if is_older(g.shared.target, _TOTALS_SINCE):
        raise Unsupported(f"the value of an aggregation before Linux {'.'.join(map(str, _TOTALS_SINCE))}", position)


def has_fragments(g: Generation) -> bool:
    """Whether a packet in XDP may be in several pieces, and there are helpers for that."""
    return not is_older(g.shared.target, _FRAGMENTS_SINCE)


def pads_names(g: Generation) -> bool:
    """Whether there are but zeros behind the NUL of a thread's name."""
    return not is_older(g.shared.target, _PADDED_SINCE)


def has_exchange(g: Generation) -> bool:
    """Whether the kernel has an atomic exchange."""
    return not is_older(g.shared.target, _EXCHANGES_SINCE)
