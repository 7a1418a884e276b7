"""Speculative records: kept back until commit or discard."""

from __future__ import annotations


class Speculations:
    """Records by speculation, as they stood in the ring."""

    def __init__(self) -> None:
        self._records: dict[int, bytearray] = {}

    def keep(self, speculation: int, data: memoryview) -> None:
        """Add ring bytes, which are copied."""
        self._records.setdefault(speculation, bytearray()).extend(data)

    def take(self, speculation: int) -> bytes:
        """The records kept, as ring bytes; they are no longer kept."""
        return bytes(self._records.pop(speculation, b""))
