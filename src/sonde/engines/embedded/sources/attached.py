"""Programs as the handlers of events: what `open_event` attaches."""

from __future__ import annotations

from sonde.bpf import programs
from sonde.runtime.environment import Environment
from sonde.runtime.perf.handlers import HandlerProgram
from sonde.runtime.programs.loaded import RunnableProgram
from sonde.runtime.programs.ready import ReadyProgram


class _General:
    """A general program, which is given what a program of type `kind` would give it by a tail call."""

    def __init__(self, program: RunnableProgram, kind: int) -> None:
        self.kind = kind
        self.context_end = 0
        self._program = program

    def run(self, context: int, cookie: int = 0) -> int:
        return self._program.fire(self.kind, context, cookie)


def attached(program: ReadyProgram, environment: Environment, kind: int = programs.PERF_EVENT) -> HandlerProgram:
    """The program as the handler of events whose handlers are of type `kind`."""
    runnable = program.callable or RunnableProgram(
        environment, program.spec.kind, program, context_end=program.context_end
    )
    return _General(runnable, kind) if program.spec.kind == programs.PROBE else runnable
