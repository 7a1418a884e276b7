"""Programs that handle trace events: perf events opened by their attribute, with the record in place of arguments."""

from __future__ import annotations

from sonde.arch import registers
from sonde.bpf import programs
from sonde.engines.embedded.sources.attached import attached
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.formats import perf_events as perf
from sonde.model.errors import EngineError
from sonde.model.probe import Probe, Tracepoint
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import open_event
from sonde.runtime.perf.handlers import HandlerProgram
from sonde.runtime.perf.trace_events import NUMBER_AT, WORDS_AT, TraceEvent, trace_event
from sonde.runtime.programs.ready import ReadyProgram, Run


class EventHandlers:
    """`buffers` has the registers and the arguments of the raw tracepoint that makes the event happen."""

    def __init__(self, memory: MachineMemory, environment: Environment, buffers: Buffers) -> None:
        self._memory = memory
        self._environment = environment
        self._buffers = buffers
        self._loaded: dict[int, HandlerProgram] = {}
        self._record = bytearray()
        self._record_at = 0

    def run(self, program: ReadyProgram, probe: Probe, firing: Tracepoint) -> Run:
        """How the program is run as the handler of a trace event. Raises EngineError."""
        environment, event = self._environment, trace_event(firing.group, firing.name)
        assert event is not None
        descriptor = len(self._loaded) + 1
        self._loaded[descriptor] = attached(program, environment, programs.TRACEPOINT)
        wanted = Attributes(perf.TYPE_TRACEPOINT, event.identifier, handler=True, config1=descriptor)
        try:
            opened = open_event(wanted, self._loaded, descriptor)
        except OSError as error:
            raise EngineError(f"cannot attach {probe}: {error.strerror}") from None
        handler = opened.handlers.handler
        assert handler is not None
        run = handler.program.run
        return self._with_record(lambda record: run(record, environment.cookie), event)

    def _with_record(self, run: Run, event: TraceEvent) -> Run:
        """With the record of the event in place of the arguments."""
        if not self._record_at:
            self._record = bytearray(WORDS_AT + 8 * len(registers.CALL_ARGUMENTS))
            self._record_at = self._memory.add(self._record)
        record, at, taken, arguments = self._record, self._record_at, self._buffers.registers, self._buffers.arguments
        number_at, number_end = registers.CALL_NUMBER, registers.CALL_NUMBER + event.number_size
        padding = bytes(WORDS_AT - NUMBER_AT - event.number_size)
        places = registers.CALL_ARGUMENTS[: event.words]

        def entered(context: int) -> int:
            words = b"".join([taken[place : place + 8] for place in places])
            record[NUMBER_AT : event.size] = taken[number_at:number_end] + padding + words
            return run(at)

        def returned(context: int) -> int:
            record[NUMBER_AT : event.size] = taken[number_at:number_end] + padding + arguments[8:16]
            return run(at)

        return returned if event.is_return else entered
