"""What helpers do with one map, by the handle that programs have of it: maps with keys, queues, storage of tasks."""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.environment import Environment


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    calls = environment.table.calls
    lookups, updates, deletes = calls("map_lookup_elem"), calls("map_update_elem"), calls("map_delete_elem")
    pushes, pops, peeks = calls("map_push_elem"), calls("map_pop_elem"), calls("map_peek_elem")
    gets, removals = calls("task_storage_get"), calls("task_storage_delete")

    def map_lookup_percpu_elem(handle: int, key: int, cpu: int) -> int:
        """There is only CPU 0."""
        return 0 if cpu & 0xFFFF_FFFF else lookups[handle](key)

    return {
        "map_lookup_elem": lambda handle, key: lookups[handle](key),
        "map_update_elem": lambda handle, key, value, flags: updates[handle](key, value, flags),
        "map_delete_elem": lambda handle, key: deletes[handle](key),
        "map_lookup_percpu_elem": map_lookup_percpu_elem,
        "map_push_elem": lambda handle, value, flags: pushes[handle](value, flags),
        "map_pop_elem": lambda handle, value: pops[handle](value),
        "map_peek_elem": lambda handle, value: peeks[handle](value),
        "task_storage_get": lambda handle, task, value, flags: gets[handle](task, value, flags),
        "task_storage_delete": lambda handle, task: removals[handle](task),
    }
