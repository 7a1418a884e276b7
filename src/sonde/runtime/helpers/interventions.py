"""What programs do to the thread that fires them: another result of its system call, a delay (bpf/helpers.py)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.environment import Environment

_SIGN = 1 << 63


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    def inject_result(result: int) -> int:
        return environment.intervene(environment.task, (result ^ _SIGN) - _SIGN, 0)

    def delay_task(ns: int) -> int:
        return environment.intervene(environment.task, None, ns)

    return {"inject_result": inject_result, "delay_task": delay_task}
