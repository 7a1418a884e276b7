"""The variables of a probe, fetched on the path that asks for them (bpf/helpers.py: FETCH_VARIABLES)."""

from __future__ import annotations

from collections.abc import Callable
from errno import E2BIG

from sonde.arch import registers
from sonde.runtime.environment import Environment


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    memory = environment.memory

    def taken() -> memoryview:
        return memory.view(environment.task.registers, registers.SIZE)

    def fetch_variables(context: int, buffer: int, size: int) -> int:
        destination = memory.view(buffer, size & 0xFFFF_FFFF, is_write=True)
        variables = environment.variables
        if variables is None or variables.size > len(destination):
            # The verifier has seen to the size; a program that none has seen gets zeros.
            destination[:] = bytes(len(destination))
            return 0 if variables is None else -E2BIG
        return variables.fetch(environment.task, taken, destination)

    return {"fetch_variables": fetch_variables}
