"""Task storage (kernel/bpf/bpf_task_storage.c)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.maps.task_storage import TaskStorage


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    maps = environment.table.maps
    gets: dict[int, Callable[[int, int, int], int]] = {}

    def storage(handle: int) -> TaskStorage:
        found = maps[handle]
        assert isinstance(found, TaskStorage)
        return found

    def get_of(handle: int) -> Callable[[int, int, int], int]:
        get = gets[handle] = storage(handle).get
        return get

    def task_storage_get(handle: int, task: int, value: int, flags: int) -> int:
        return (gets.get(handle) or get_of(handle))(task, value, flags)

    def task_storage_delete(handle: int, task: int) -> int:
        return storage(handle).delete_of(task)

    return {"task_storage_get": task_storage_get, "task_storage_delete": task_storage_delete}
