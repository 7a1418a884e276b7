"""A program that is loaded: run by what fires it, or by a tail call from a program of its own or another type."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from sonde.bpf import probe_context, programs
from sonde.model.spec import VariablesSpec
from sonde.runtime.environment import Environment
from sonde.runtime.programs.conversions import ProbeValues
from sonde.runtime.programs.program_types import CALLERS, Caller
from sonde.runtime.programs.variables import ProbeVariables
from sonde.runtime.verifier.contexts import CONTEXTS, field_named
from sonde.typed import Protocol


class Executable(Protocol):
    """As in machine/execution.py."""

    def run(self, context: int, /) -> int: ...


class RunnableProgram:
    """A program of type `kind`. Overflow handlers, firings and program arrays have it as it is.

    `variables` can be fetched where it is fired. Raises EngineError for what is none.
    """

    def __init__(
        self, environment: Environment, kind: int, execution: Executable, variables: Iterable[VariablesSpec] = ()
    ) -> None:
        self.kind = kind
        self._variables = {each.cookie: ProbeVariables(each.fetches) for each in variables}
        self._environment = environment
        self._execution = execution

    def run(self, context: int, cookie: int = 0) -> int:
        """One firing, which may be in the middle of another one: r0."""
        environment = self._environment
        before = environment.kind, environment.cookie, environment.tail_calls, environment.variables
        environment.kind, environment.cookie, environment.tail_calls = self.kind, cookie, 0
        environment.variables = self._variables.get(cookie)
        try:
            return self._execution.run(context)
        finally:
            environment.kind, environment.cookie, environment.tail_calls, environment.variables = before

    def __call__(self, context: int) -> Callable[[], int] | None:
        """A tail call to it: the rest of the run, or None where the running program's type may not call this one."""
        kind = self._environment.kind
        if kind == self.kind:
            return lambda: self._called(context)
        caller = CALLERS.get(self.kind, {}).get(kind)
        if caller is None:
            return None
        return lambda: self._converted(caller, context)

    def _called(self, context: int) -> int:
        """The rest of a run, of the type that ran until then; its own probes' variables are what it can fetch."""
        environment = self._environment
        environment.variables = self._variables.get(environment.cookie)
        return self._execution.run(context)

    def _converted(self, caller: Caller, context: int) -> int:
        environment = self._environment
        made = bytearray(probe_bytes(caller.convert(environment, context), environment.cookie))
        address = environment.memory.add(made)
        before, environment.kind = environment.kind, self.kind
        try:
            result = self._called(address)
        finally:
            environment.kind = before
            environment.memory.remove(address)
        return result if caller.result is None else caller.result


def probe_bytes(values: ProbeValues, cookie: int) -> bytes:
    """The context of a general probe as the engine keeps it."""
    table = CONTEXTS[programs.PROBE]
    made = bytearray(table.size)
    at = {name: field_named(table, name).at for name in ("registers", "arguments", "cookie", "count", "errno")}
    arguments = values.arguments[: probe_context.MAX_ARGUMENTS]
    made[at["registers"] : at["registers"] + len(values.registers)] = values.registers
    struct.pack_into(f"={len(arguments)}Q", made, at["arguments"], *arguments)
    struct.pack_into("=Q", made, at["cookie"], cookie)
    struct.pack_into("=I", made, at["count"], len(arguments))
    struct.pack_into("=I", made, at["errno"], values.errno)
    return bytes(made)
