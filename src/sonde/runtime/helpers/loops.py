"""Helpers that call a function of the program (kernel/bpf/bpf_iter.c)."""

from __future__ import annotations

from collections.abc import Callable
from errno import E2BIG, EINVAL

from sonde.runtime.environment import Environment
from sonde.runtime.machine.faults import TurnsError
from sonde.runtime.maps.array import ArrayMap
from sonde.runtime.maps.hash import Hash

_MOST = 1 << 23
"""BPF_MAX_LOOPS (include/linux/bpf_verifier.h)."""

_BETWEEN_LOOKS = 1024
"""Turns between two looks at whether the session is to end: millions of them would keep the process waiting."""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    functions, maps, memory = environment.functions, environment.table.maps, environment.memory
    places: dict[tuple[int, int], int] = {}
    depth = 0
    is_over = False

    def charge(turns: int, call: Callable[..., int]) -> None:
        """So many turns of a function of a program come."""
        nonlocal is_over
        is_over = is_over or environment.is_ending()
        environment.turns += turns
        if environment.most_turns and environment.turns > environment.most_turns:
            raise TurnsError(int(call.__name__[1:]))

    def loop(count: int, function: int, context: int, flags: int) -> int:
        count &= 0xFFFF_FFFF
        if flags:
            return -EINVAL
        if count > _MOST:
            return -E2BIG
        call = functions[function]
        for begin in range(0, count, _BETWEEN_LOOKS):
            end = min(begin + _BETWEEN_LOOKS, count)
            charge(end - begin, call)
            for index in range(begin, end):
                # A loop within the turn may have seen the end.
                if is_over or call(index, context):
                    return index + 1
        return count

    def place(handle: int) -> int:
        """Where a function finds the key of the element it is called for; one for each depth of calls."""
        found = places.get((handle, depth))
        if found is None:
            found = places[handle, depth] = memory.add(bytearray(maps[handle].spec.key_size))
        return found

    def for_each_map_elem(handle: int, function: int, context: int, flags: int) -> int:
        nonlocal depth
        if flags:
            return -EINVAL
        visits = maps[handle]
        assert isinstance(visits, ArrayMap | Hash)
        call, at, lookup, keys, visited = functions[function], place(handle), visits.lookup, visits.keys(), 0
        depth += 1
        try:
            for key in keys:
                # An element may be gone by the time its turn comes.
                charge(1, call)
                if is_over:
                    break
                if value := lookup(key):
                    memory.write(at, key)
                    visited += 1
                    if call(handle, at, value, context):
                        break
        finally:
            depth -= 1
        return visited

    return {"loop": loop, "for_each_map_elem": for_each_map_elem}
