"""The kernel as an engine."""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.kernel import metering
from sonde.engines.kernel.stamps import StampValues
from sonde.engines.kernel.tracing import KernelTracing
from sonde.machine.system import online_cpus
from sonde.model.errors import EngineError
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.model.samples import SampleRequest


class KernelEngine:
    """Runs programs in the running kernel: bpf(2), perf_event_open(2), mapped ring buffers.

    `cpu` is the one whose firings alone are traced, None for all: timers and internal probes then fire there.
    `values` are the numbers that programs are stamped with. `request` says how perf events are opened. `meter`: the
    turns of programs are metered (`metering.py`); it tells what a function of the kernel is called by its BTF type.
    """

    tells_printed = False

    def __init__(
        self, cpu: int | None = None, values: StampValues | None = None, request: SampleRequest | None = None,
        meter: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        self._meter = meter
        self._cpu = cpu
        self._values = values
        self._request = request

    def load(self, spec: TracingSpec) -> KernelTracing:
        """Create the maps and load the programs. Raises EngineError, having freed what it made until then."""
        if self._cpu is not None and self._cpu not in online_cpus():
            raise EngineError(f"there is no CPU {self._cpu} that is online")
        if self._meter is not None:
            spec = metering.metered(spec, self._meter)
        return KernelTracing(spec, self._cpu, self._values, self._request)
