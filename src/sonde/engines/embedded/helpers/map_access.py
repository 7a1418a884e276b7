"""Maps by the handles that programs have of them (kernel/bpf/helpers.c)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.embedded.environment import Environment


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    table = environment.table
    lookups, updates, deletes = table.lookups, table.updates, table.deletes

    def map_lookup_elem(handle: int, key: int) -> int:
        return lookups[handle](key)

    def map_update_elem(handle: int, key: int, value: int, flags: int) -> int:
        return updates[handle](key, value, flags)

    def map_delete_elem(handle: int, key: int) -> int:
        return deletes[handle](key)

    def map_lookup_percpu_elem(handle: int, key: int, cpu: int) -> int:
        return 0 if cpu & 0xFFFF_FFFF else lookups[handle](key)

    return {
        "map_lookup_elem": map_lookup_elem,
        "map_update_elem": map_update_elem,
        "map_delete_elem": map_delete_elem,
        "map_lookup_percpu_elem": map_lookup_percpu_elem,
    }
