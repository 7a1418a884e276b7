"""capture(): the packet behind the record, appended by the kernel as it is put into the perf ring.

The program gives perf_event_output its context and how many bytes of the packet it wants; the kernel copies them from
wherever they are, also in pages and fragments, straight into the ring (bpf_skb_event_output and bpf_xdp_event_output,
net/core/filter.c).
"""

from __future__ import annotations

from sonde.codegen.basis import outputs
from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.expressions.packet_access import passing_packet
from sonde.codegen.records import writing
from sonde.model import program as tree
from sonde.model.errors import UNSUPPORTED, SourceError
from sonde.model.types import LONG


def record(g: Generation, s: tree.Act) -> None:
    """The fields of a `CaptureAction`, in its order; where the bytes are is known when the record is sent."""
    packet = passing_packet(g, "capture()", s.position)
    if g.shared.settings.output == outputs.RINGBUF:
        text = "capture() with -xoutput=ringbuf: the kernel appends packets to records in perf rings alone"
        raise SourceError(UNSUPPORTED, text, s.position, "leave the option out, or use -xoutput=perf")
    assert g.record is not None
    assert g.record.appended is not None
    time, length, _data = (writing.next_field(g) for _ in range(3))
    base = g.record.base
    g.b.store(base, time.offset, time.size, g.value(tree.Builtin(LONG, s.position, "walltimestamp")))
    whole = packet.length(g)
    g.b.store(base, length.offset, length.size, whole)
    is_replayed = REPLAYS in g.shared.target.features
    # A recording may hold less than there was to be had, and is told of what is missing.
    g.b.move(g.record.appended, whole if is_replayed else packet.present(g))
    if s.arguments:
        asked = g.value(s.arguments[0])
        with g.b.when("gt", g.record.appended, asked):
            g.b.move(g.record.appended, asked)
    if is_replayed:
        g.b.move(g.record.appended, g.call("firing_packet", g.record.appended))
