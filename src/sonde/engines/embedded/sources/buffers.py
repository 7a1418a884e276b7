"""The memory in which programs find their context: one of each, as one program runs at a time."""

from __future__ import annotations

from sonde.runtime.kernel_types import layout
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.verifier.contexts import RAW_ARGUMENTS

_INFORMATION_SIZE = 128
"""sizeof(siginfo_t), of which a record has the beginning."""


class Buffers:
    """Buffers and their addresses: a raw tracepoint's `arguments`, struct pt_regs of the thread (`registers`), a
    signal's `information`."""

    def __init__(self, memory: MachineMemory) -> None:
        self.arguments = bytearray(8 * RAW_ARGUMENTS)
        self.registers = bytearray(layout("struct pt_regs").size)
        self.information = bytearray(_INFORMATION_SIZE)
        self.arguments_at = memory.add(self.arguments)
        self.registers_at = memory.add(self.registers)
        self.information_at = memory.add(self.information)
