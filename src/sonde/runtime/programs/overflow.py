"""The overflow of an event: its program runs first and decides whether the sample is written as well.

What the program sees is a meta-structure: struct bpf_perf_event_data of include/uapi/linux/bpf_perf_event.h, registers,
sample_period and addr, whose accesses the verifier rewrites to where verifier/contexts.py keeps them.
"""

from __future__ import annotations

import struct
from _thread import allocate_lock

from sonde.arch import registers
from sonde.bpf import programs
from sonde.runtime.environment import Environment
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.sample import Sample
from sonde.runtime.verifier.contexts import CONTEXTS, field_named

_U64 = (1 << 64) - 1


class Overflows:
    """Where overflows happen: the engine's one CPU, on which one overflow program runs at a time.

    While it runs, its event is the environment's. `skipped` counts samples that came while one ran and were dropped, as
    the kernel does (bpf_prog_active).
    """

    def __init__(self, environment: Environment) -> None:
        context = CONTEXTS[programs.PERF_EVENT]
        self._bytes = bytearray(context.size)
        self._registers, self._period, self._addr = (
            field_named(context, name).at for name in ("regs", "sample_period", "addr")
        )
        self._address = environment.memory.add(self._bytes)
        self._running = allocate_lock()
        self._environment = environment
        self.skipped = 0

    def overflow(self, event: OpenPerfEvent, sample: Sample) -> int:
        """The event counted as far as its period: 0, or -errno of the event's own handler if that ran."""
        handler = event.handlers.handler
        if handler is None:
            return event.original(sample)
        if not self._running.acquire(blocking=False):
            self.skipped += 1
            return 0
        before, self._environment.event = self._environment.event, event
        try:
            sample.prepare(event.layout)
            self._fill(sample)
            chained = handler.program.run(self._address, handler.cookie)
        finally:
            self._environment.event = before
            self._running.release()
        return event.original(sample) if chained else 0

    def _fill(self, sample: Sample) -> None:
        taken = sample.registers or bytes(registers.SIZE)
        self._bytes[self._registers : self._registers + registers.SIZE] = taken
        struct.pack_into("=Q", self._bytes, self._period, sample.values.get("period", 0) & _U64)
        struct.pack_into("=Q", self._bytes, self._addr, sample.values.get("addr", 0) & _U64)
