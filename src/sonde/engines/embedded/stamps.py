"""The numbers that stamps stand for here: pid namespaces are none of the engine's business."""

from __future__ import annotations

from sonde.machine import system
from sonde.model.errors import EngineError
from sonde.model.spec import Stamp


class EmbeddedStamps:
    """What each stamp but a cookie is. `process` is the process of -c or -p. `realtime_offset`: the wall clock less
    CLOCK_MONOTONIC, in ns, the same for all programs."""

    def __init__(self, process: int = 0, realtime_offset: int | None = None) -> None:
        self._process = process
        self.realtime_offset = system.realtime_offset() if realtime_offset is None else realtime_offset

    def value(self, stamp: Stamp) -> int:
        """64 bits. Raises EngineError for what only a kernel has."""
        match stamp.kind:
            case "realtime_offset":
                return self.realtime_offset
            case "namespace_device" | "namespace_inode":
                return 0
            case "target":
                return self._process
        what = stamp.name or stamp.kind
        raise EngineError(f"the program needs the kernel's {what}, which only the kernel engine has")
