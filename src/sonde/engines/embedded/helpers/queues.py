"""Queues and stacks of values (kernel/bpf/helpers.c)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.maps.queue import Queue


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    maps = environment.table.maps

    def queue(handle: int) -> Queue:
        found = maps[handle]
        assert isinstance(found, Queue)
        return found

    return {
        "map_push_elem": lambda handle, value, flags: queue(handle).push_at(value, flags),
        "map_pop_elem": lambda handle, value: queue(handle).pop_at(value),
        "map_peek_elem": lambda handle, value: queue(handle).peek_at(value),
    }
