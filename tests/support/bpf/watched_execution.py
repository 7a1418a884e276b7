"""The interpreter, watched: what was in the registers before each instruction of a run."""

from support.bpf.bpf_interpreter import Interpreter


class _Code(tuple):
    """Code that tells which slot is looked at."""

    def __getitem__(self, slot):
        self.looked_at(slot)
        return super().__getitem__(slot)


class WatchedInterpreter(Interpreter):
    """`seen` is called with an instruction's index and the registers before it, which it may change."""

    def __init__(self, linked, *others, seen):
        code = _Code(linked.code)
        super().__init__(linked._replace(code=code), *others)
        seconds = {at + 1 for at, x in enumerate(linked.code) if x.opcode == 0x18}
        code.looked_at = lambda slot: slot in seconds or seen(slot, self._active[-1])
        self._active = []

    def _steps(self, slot, registers, depth):
        self._active.append(registers)
        try:
            return super()._steps(slot, registers, depth)
        finally:
            self._active.pop()
