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
from sonde.runtime.verifier.contexts import CONTEXTS
from sonde.typed import Protocol


class Executable(Protocol):
    """As in machine/execution.py."""

    def run(self, context: int, /) -> int: ...


class RunnableProgram:
    """A program of type `kind`. Overflow handlers, firings and program arrays have it as it is.

    `variables` can be fetched where it is fired; `context_end` is behind the last byte of the context that it accesses;
    `reads_stack`: a general program may look at arguments from a process's stack. Raises EngineError for what
    is none.
    """

    def __init__(
        self, environment: Environment, kind: int, execution: Executable, variables: Iterable[VariablesSpec] = (),
        context_end: int = 0, reads_stack: bool = True,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.context_end = context_end
        self._reads_stack = reads_stack
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

    def fire(self, kind: int, context: int, cookie: int = 0) -> int:
        """One firing of what has a context of another program type: that is converted. r0. The type is a caller of this
        one's (program_types.py)."""
        environment = self._environment
        before = environment.kind, environment.cookie, environment.tail_calls, environment.variables
        environment.kind, environment.cookie, environment.tail_calls = kind, cookie, 0
        try:
            return self._converted(CALLERS[self.kind][kind], context)
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
        values = caller.convert(environment, context)
        if self._reads_stack and caller.on_stack is not None:
            values = values._replace(arguments=values.arguments + caller.on_stack(environment, context))
        address = environment.memory.add(probe_bytes(values, environment))
        before, environment.kind = environment.kind, self.kind
        try:
            result = self._called(address)
        finally:
            environment.kind = before
            environment.memory.remove(address)
        return result if caller.result is None else caller.result


_TABLE = CONTEXTS[programs.PROBE]
_AT = {field.name: field.at for field in _TABLE.fields}
_REGISTERS, _ARGUMENTS = _AT["registers"], _AT["arguments"]
_COOKIE, _WORDS = struct.Struct("=Q"), tuple(struct.Struct(f"={n}Q") for n in range(probe_context.MAX_ARGUMENTS + 1))
_NUMBER = struct.Struct("=I")


def probe_bytes(values: ProbeValues, environment: Environment) -> bytearray:
    """The context of a general probe as the engine keeps it, where a program of another type runs."""
    made = bytearray(_TABLE.size)
    arguments = values.arguments[: probe_context.MAX_ARGUMENTS]
    made[_REGISTERS : _REGISTERS + len(values.registers)] = values.registers
    _WORDS[len(arguments)].pack_into(made, _ARGUMENTS, *arguments)
    _COOKIE.pack_into(made, _AT["cookie"], environment.cookie)
    _NUMBER.pack_into(made, _AT["count"], len(arguments))
    _NUMBER.pack_into(made, _AT["errno"], values.errno)
    _NUMBER.pack_into(made, _AT["probe"], environment.probe)
    _NUMBER.pack_into(made, _AT["kind"], environment.kind)
    return made
