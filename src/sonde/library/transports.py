"""By which ways records come from the programs, in words: what -v tells."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.bpf import maps
from sonde.model.named_maps import PERF_RINGS
from sonde.model.spec import TracingSpec


def transports(spec: TracingSpec) -> Iterator[str]:
    """A sentence for each kind of rings."""
    shapes = {each.name: each for each in spec.maps}
    for name in spec.rings:
        if name == PERF_RINGS:
            which = "records" if len(spec.rings) == 1 else "records that end in a packet"
            yield f"{which} come through perf rings of {spec.ring_bytes} bytes, one for each CPU"
        elif shapes[name].kind == maps.RINGBUF:
            yield f"records come through a BPF ring buffer of {shapes[name].max_entries} bytes"
        elif (ring := shapes[name].inner) is not None:
            yield f"records come through BPF ring buffers of {ring.max_entries} bytes, one for each CPU"
