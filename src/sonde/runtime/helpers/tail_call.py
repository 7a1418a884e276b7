"""Tail calls (bpf_tail_call in kernel/bpf/core.c): the rest of the run is another program's."""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.environment import Environment
from sonde.runtime.maps.object_array import ObjectArray
from sonde.typed import Any

_MOST = 33
"""MAX_TAIL_CALL_CNT (include/linux/bpf.h)."""


def make(environment: Environment) -> dict[str, Callable[..., Any]]:
    maps = environment.table.maps

    def tail_call(context: int, handle: int, index: int) -> Callable[[], int] | None:
        """What goes on with the run, None if there is no such program or the run has made too many of these calls.

        An element of a program array is called with the context and gives one or the other.
        """
        programs = maps[handle]
        assert isinstance(programs, ObjectArray)
        index &= 0xFFFF_FFFF
        if index >= len(programs.elements) or environment.tail_calls >= _MOST:
            return None
        program = programs.elements[index]
        if program is None:
            return None
        environment.tail_calls += 1
        rest: Callable[[], int] | None = program(context)
        return rest

    return {"tail_call": tail_call}
