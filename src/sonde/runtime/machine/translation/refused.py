"""Which access it was that Python refused to a translated program: found out from the line and its variables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sonde.runtime.machine.faults import AccessError
from sonde.runtime.machine.memory import OFFSET_BITS, Buffer, MachineMemory
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_ACCESS = r"\b(?:(set|[ui])(8|16|32|64)\()?(regions|m\d+|t\d+)\b"


class Refusals:
    """Of one program's source. `fixed` are the buffers that its Python names directly, by their region's number."""

    def __init__(self, source: str, memory: MachineMemory, fixed: Mapping[int, Buffer]) -> None:
        self._lines = source.split("\n")
        self._memory = memory
        self._bases = {f"m{number & 0x7FFF}": number << OFFSET_BITS for number in fixed}

    def fault(self, error: Exception) -> Exception:
        """An AccessError if what was raised is the program's, otherwise the error itself: it is a helper's."""
        trace = error.__traceback__
        if trace is None or trace.tb_next is not None or "a" not in trace.tb_frame.f_locals:
            return error
        return self._access(trace) or error

    def _access(self, trace: TracebackType) -> AccessError | None:
        """The first access of the line that memory does not allow."""
        offset = trace.tb_frame.f_locals["a"] & (1 << 64) - 1
        for kind, bits, name in re.findall(_ACCESS, self._lines[trace.tb_lineno - 1]):
            try:
                self._memory.view(self._bases.get(name, 0) + offset, int(bits or 8) // 8, kind == "set")
            except AccessError as found:
                return found
        return None
