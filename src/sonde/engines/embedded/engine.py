"""sonde itself as an engine: no privilege, for the processes of -c and -p."""

from __future__ import annotations

from sonde.engines.embedded.stamps import StampValues
from sonde.engines.embedded.tracing import EmbeddedTracing
from sonde.spec import TracingSpec


class EmbeddedEngine:
    """Runs programs in this process, fired by stops of the traced processes and by timers."""

    def __init__(self, target: int = 0) -> None:
        self._target = target

    def load(self, spec: TracingSpec) -> EmbeddedTracing:
        """Create the maps and make the programs ready. Raises EngineError."""
        return EmbeddedTracing(spec, StampValues(self._target))
