"""The CPU time of the thread (bpf/helpers.py: CPU_TIME)."""

from __future__ import annotations

from collections.abc import Callable
from errno import EFAULT

from sonde.runtime.environment import Environment


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    def cpu_time() -> int:
        try:
            return environment.cpu_time(environment.task)
        except OSError as error:
            return -(error.errno or EFAULT)

    return {"cpu_time": cpu_time}
