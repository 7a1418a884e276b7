"""Stack frames: 512 bytes for each running function, all zero when it begins."""

from __future__ import annotations

from sonde.runtime.machine.memory import MachineMemory

FRAME_SIZE = 512
"""MAX_BPF_STACK, include/linux/filter.h."""

ZEROS = bytes(FRAME_SIZE)


class StackFrames:
    """The frames of one execution, each a region of its own, made when first needed and used again."""

    def __init__(self, memory: MachineMemory) -> None:
        self._memory = memory
        self._made: list[int] = []
        self.free: list[tuple[bytearray, int]] = []

    def make(self) -> tuple[bytearray, int]:
        """A frame's bytes and the address behind its last one. Whoever is done with it puts it into `free`."""
        frame = bytearray(FRAME_SIZE)
        address = self._memory.add(frame)
        self._made.append(address)
        return frame, address + FRAME_SIZE

    def take(self) -> tuple[bytearray, int]:
        """The same, of those that are free if there is one."""
        if not self.free:
            return self.make()
        taken = self.free.pop()
        taken[0][:] = ZEROS
        return taken

    def close(self) -> None:
        """Take them all out of memory. No run may be under way."""
        for address in self._made:
            self._memory.remove(address)
        self._made.clear()
        self.free.clear()
