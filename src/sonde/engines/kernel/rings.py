"""The rings of one session: BPF ring buffers, perf rings, or both."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.engines.kernel import mixed_ring, perf_rings
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.maps import KernelMap, KernelMapArray
from sonde.engines.kernel.ring import KernelRing
from sonde.model.named_maps import PERF_RINGS, WRITING
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import Ring
    from sonde.engines.kernel.mixed_ring import MixedRing
    from sonde.engines.kernel.perf_rings import RecordRings
    from sonde.engines.merged_ring import MergedRing
    from sonde.model.samples import SampledEvent, Take


class Rings:
    """`rings` are those that the consumer reads, `awaited` the descriptors that are readable when there is something,
    or, of perf rings, when they have filled in part. Owns all but the maps."""

    def __init__(self, spec: TracingSpec, maps: Mapping[str, KernelMap | KernelMapArray], take: Take | None) -> None:
        """`take` gets what is in the perf rings. Raises EngineError."""
        self.rings: list[Ring] = []
        self.awaited: tuple[int, ...] = ()
        self._buffers: list[KernelRing] = []
        self._perf: RecordRings | None = None
        self._looked_at: MergedRing | MixedRing | None = None
        try:
            for name in spec.rings:
                if name != PERF_RINGS:
                    self._open_buffers(maps[name])
            if PERF_RINGS in spec.rings:
                self._open_perf(maps, spec.ring_bytes, take)
        except BaseException:
            self.close()
            raise

    def _open_buffers(self, ring_map: KernelMap | KernelMapArray) -> None:
        for element in ring_map.elements if isinstance(ring_map, KernelMapArray) else (ring_map,):
            try:
                self._buffers.append(KernelRing(element.descriptor, element.spec.max_entries))
            except OSError as error:
                raise explain(error, f"cannot map ring buffer {ring_map.spec.name} into memory") from None
            self.awaited = (*self.awaited, element.descriptor)
        self.rings = list(self._buffers)

    def _open_perf(self, maps: Mapping[str, KernelMap | KernelMapArray], size: int, take: Take | None) -> None:
        """With one ring buffer the two are one ring; with one for each CPU nothing is in order but a CPU's records."""
        array, writing = maps[PERF_RINGS], maps[WRITING]
        assert isinstance(array, KernelMap)
        assert isinstance(writing, KernelMap)
        self._perf = perf_rings.RecordRings(array, writing, size, take)
        self.awaited = (*self.awaited, *self._perf.descriptors)
        if len(self._buffers) == 1:
            self._looked_at = mixed_ring.MixedRing(self._buffers[0], self._perf.ring)
            self.rings = [self._looked_at]
        else:
            self._looked_at = self._perf.ring
            self.rings = [*self._buffers, self._looked_at]

    @property
    def must_be_looked_at(self) -> bool:
        """Whether there are perf rings, in which a record may stand though no descriptor is readable."""
        return self._looked_at is not None

    @property
    def has_data(self) -> bool:
        """Whether those have any."""
        return self._looked_at is not None and self._looked_at.has_data

    @property
    def event(self) -> SampledEvent | None:
        """What the records in perf rings are samples of."""
        return self._perf.event if self._perf is not None else None

    def close(self) -> None:
        """Closing twice is harmless."""
        for ring in self._buffers:
            ring.close()
        if self._perf is not None:
            self._perf.close()
        self.rings, self._buffers, self._perf, self._looked_at, self.awaited = [], [], None, None, ()
