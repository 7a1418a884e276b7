"""sonde itself as an engine: no privilege, for the processes of -c and -p."""

from __future__ import annotations

from sonde.engines.embedded.followed import FollowedGroup
from sonde.engines.embedded.stamps import EmbeddedStamps
from sonde.engines.embedded.tracing import EmbeddedTracing
from sonde.model.samples import RING_BYTES
from sonde.model.spec import TracingSpec


class EmbeddedEngine:
    """Runs programs in this process, fired by stops of the followed processes and by timers."""

    def __init__(self, followed: FollowedGroup | None = None, sample_bytes: int = RING_BYTES) -> None:
        """`sample_bytes` is the size of the ring of samples."""
        self._followed = followed
        self._sample_bytes = sample_bytes

    def load(self, spec: TracingSpec) -> EmbeddedTracing:
        """Create the maps and make the programs ready. Raises EngineError."""
        process = self._followed.members[0].pid if self._followed else 0
        return EmbeddedTracing(spec, EmbeddedStamps(process), self._followed, self._sample_bytes)
