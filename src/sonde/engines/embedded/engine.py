"""sonde itself as an engine: no privilege, for the processes of -c and -p."""

from __future__ import annotations

from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.stamps import EmbeddedStamps
from sonde.engines.embedded.tracing import EmbeddedTracing
from sonde.model.samples import RING_BYTES
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import FiringKeeper
    from sonde.engines.fired import FiringSource


class EmbeddedEngine:
    """Runs programs in this process, fired by stops of the followed processes, by timers, and by the packets of a
    file."""

    tells_printed = True

    def __init__(
        self, followed: FollowedGroup | None = None, sample_bytes: int = RING_BYTES, packets: str = "",
        firings: FiringSource | None = None, keeper: FiringKeeper | None = None, realtime_offset: int | None = None,
        most_turns: int = 0,
    ) -> None:  # fmt: skip
        """`sample_bytes` is the size of the ring of samples, `packets` a file whose packets fire programs, `firings`
        what a recording has, which fires them in the place of all else; `keeper` is what firings are recorded by, with
        `realtime_offset`, ns. `most_turns`: how often helpers may call functions back in a firing, 0: any number."""
        self._most_turns = most_turns
        self._keeper, self._offset = keeper, realtime_offset
        self._firings = firings
        self._followed = followed
        self._packets = packets
        self._sample_bytes = sample_bytes

    def load(self, spec: TracingSpec) -> EmbeddedTracing:
        """Create the maps and make the programs ready. Raises EngineError."""
        source = self._firings
        if source is not None:
            stamps = EmbeddedStamps(source.process, source.realtime_offset)
            return EmbeddedTracing(spec, stamps, None, self._sample_bytes, "", source, most_turns=self._most_turns)
        process = self._followed.members[0].pid if self._followed else 0
        stamps = EmbeddedStamps(process, self._offset)
        return EmbeddedTracing(
            spec, stamps, self._followed, self._sample_bytes, self._packets, keeper=self._keeper,
            most_turns=self._most_turns,
        )  # fmt: skip
