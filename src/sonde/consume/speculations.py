"""Speculative records: kept back until commit or discard.

The record of a commit() may be read before some of those it commits: they were being written on other CPUs, or stand
in other rings. It tells how many the speculation has, so it is known when all are here; until then, and until they
were dealt with, the speculation is not free to be taken again. The counts are of all records since tracing began.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from sonde.formats import damage
from sonde.model.named_maps import COMMITTED, DISCARDED, FREE, SPECULATION_COUNTS, SPECULATIONS
from sonde.typed import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sonde.engines.base import DataSource

_KEY = struct.Struct("<I")
_STATE = struct.Struct("<Q")
_MOST = (1 << 32) - 1

Show: TypeAlias = Callable[[memoryview], None]
"""Is given records as they stood in a ring."""


class _Closed(NamedTuple):
    """A speculation that was committed or else discarded, and its number of records as far as is known."""

    is_commit: bool
    written: int


class Speculations:
    """Records by speculation, as they stood in the ring; whoever settles gets those that are committed.

    Unless a program makes speculations, and commits or discards any, this is not `is_used`."""

    def __init__(self, tracing: DataSource, is_used: bool) -> None:
        self._tracing = tracing
        self._is_used = is_used
        self._records: dict[int, bytearray] = {}
        self._seen: dict[int, int] = {}
        self._closed: dict[int, _Closed] = {}

    def keep(self, speculation: int, data: memoryview, count: int) -> None:
        """Add ring bytes with that many records, which are copied."""
        self._seen[speculation] = self._seen.get(speculation, 0) + count
        closed = self._closed.get(speculation)
        if closed is None or closed.is_commit:
            self._records.setdefault(speculation, bytearray()).extend(data)

    def kept(self) -> Iterable[bytearray]:
        """The records of each speculation."""
        return self._records.values()

    def close(self, speculation: int, is_commit: bool, written: int) -> None:
        """It was committed or discarded after so many records. Raises DamagedError for the number of none."""
        if not self._is_used:
            return
        if not 0 <= speculation <= _MOST:
            raise damage.DamagedError(f"it is damaged: there is no speculation {speculation}")
        self._closed[speculation] = _Closed(is_commit, written)
        if not is_commit:
            self._records.pop(speculation, None)

    def settle(self, show: Show) -> None:
        """Show what is committed and complete, and set its speculations free."""
        for speculation, closed in list(self._closed.items()):
            if self._seen.get(speculation, 0) == closed.written:
                self._finish(speculation, show)

    def settle_late(self, show: Show) -> None:
        """The same at the end of a look at all rings: records that were given up are taken off what is awaited."""
        self.settle(show)
        if not self._closed:
            return
        for key, value in self._tracing.read_map(SPECULATION_COUNTS):
            (speculation,) = _KEY.unpack(key)
            if speculation in self._closed:
                self._closed[speculation] = self._closed[speculation]._replace(written=_STATE.unpack_from(value)[0])
        self.settle(show)

    def find_untold(self) -> None:
        """Close what was committed or discarded when the ring had no room to say so."""
        if not self._is_used:
            return
        for key, value in self._tracing.read_map(SPECULATIONS):
            (speculation,), (state,) = _KEY.unpack(key), _STATE.unpack(value)
            if state in (COMMITTED, DISCARDED) and speculation not in self._closed:
                # Their number is not known yet; settle_late() asks for it.
                self.close(speculation, state == COMMITTED, -1)

    def settle_all(self, show: Show) -> None:
        """Nothing more will come."""
        self.find_untold()
        for speculation in list(self._closed):
            self._finish(speculation, show)

    def _finish(self, speculation: int, show: Show) -> None:
        del self._closed[speculation]
        records = self._records.pop(speculation, None)
        if records:
            show(memoryview(records))
        self._tracing.write_map(SPECULATIONS, _KEY.pack(speculation), _STATE.pack(FREE))
