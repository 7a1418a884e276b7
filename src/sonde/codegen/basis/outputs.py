"""The ways a record goes from a program to the consumer.

`ringbuf`: one BPF ring buffer for all CPUs, or one for each. A record is reserved there and written in place, or, where
its length is known last, built in scratch memory and copied.

`perf`: a perf ring for each CPU, behind an array of perf events. Nothing can be reserved in one, so every record is
built, as an *image*: the 8-byte header that a BPF ring buffer puts before a record (u32 length, u32 0), then the
record. The kernel adds the time, by which the engine merges the CPUs' records. While a CPU is about to write one its
number in the map `spec.WRITING` is not 0, so that the engine knows when all up to some time are in the rings.

`perf-reserve`: the same rings, but a record is reserved in its perf ring and written in place, which helpers of the
embedded engine do. One whose length is known last, or that ends in a packet, is built.

`mixed`: the first, but for records that end in a packet, which the kernel appends in perf rings alone. In the second
u32 of such an image stands how far the ring buffer was filled, by which the engine knows between which of its records
the image belongs.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.arch import pages
from sonde.bpf import maps as kinds
from sonde.bpf.helpers import DISCARD_SLOT
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.settings import Settings
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.formats.bpf_ring import ALIGNMENT, RING_HEADER, ROUNDING
from sonde.model.named_maps import PERF_RINGS, WRITING
from sonde.model.spec import MapSpec
from sonde.model.target import Target, is_older

RINGBUF, PERF, PERF_RESERVE, AUTO = "ringbuf", "perf", "perf-reserve", "auto"
_IN_PERF_RINGS = frozenset({PERF, PERF_RESERVE})
MIXED = "mixed"
"""What AUTO can become, though nobody can ask for it."""

RING = "ring"

LARGEST_RECORD = 65456
"""Bytes of a record whose image, with all other fields of a recorded sample, fits the u16 size of a perf record.
Beyond that the kernel lets the size wrap, and the ring is unreadable from there on (perf_prepare_sample,
kernel/events/core.c)."""

NOTHING = Imm(0)
_CURRENT_CPU = 0xFFFFFFFF
_PRODUCER_POSITION = 3
"""BPF_RB_PROD_POS: how many bytes have ever been reserved."""
_APPENDED = 32
"""From which bit of the flags on they have the number of bytes of the context to append."""

RING_BUFFERS_SINCE = (5, 8)
"""The first kernel with BPF ring buffers."""


def chosen(wanted: str, target: Target, has_packets: bool = False) -> str:
    """RINGBUF, PERF or MIXED, where AUTO is wanted as the kernel and the program demand.

    `has_packets`: the kernel is to append bytes of packets to records, which it does in perf rings alone. An engine
    that runs programs itself, on one CPU, has one ring for all.
    """
    if wanted != AUTO:
        return wanted
    if "ringbuf" not in target.features and is_older(target, RING_BUFFERS_SINCE):
        return PERF
    if has_packets and "interpreted" in target.features:
        return PERF
    return MIXED if has_packets else RINGBUF


def maps(settings: Settings) -> Iterable[MapSpec]:
    """What carries the records, and what belongs to it: those that `rings` names come first."""
    if settings.output not in _IN_PERF_RINGS:
        ring = MapSpec(RING, kinds.RINGBUF, 0, 0, ring_bytes(settings))
        if settings.rings_per_cpu:
            ring = MapSpec("rings", kinds.ARRAY_OF_MAPS, 4, 4, 1, inner=ring, by_cpu="any")
        yield ring
    if settings.output != RINGBUF:
        yield MapSpec(PERF_RINGS, kinds.PERF_EVENT_ARRAY, 4, 4, 1, by_cpu="any")
        yield MapSpec(WRITING, kinds.PERCPU_ARRAY, 4, 8, 1)


def rings(settings: Settings) -> tuple[str, ...]:
    """What `TracingSpec.rings` is."""
    return tuple(each.name for each in maps(settings) if each.name != WRITING)


def ring_bytes(settings: Settings) -> int:
    """The size of each BPF ring buffer: that of option bufsize or more, a power of 2 of pages."""
    return _pages(settings.bufsize)


def perf_ring_bytes(settings: Settings) -> int:
    """The same of each perf ring, which is larger where it is for packets; 0 if there are none."""
    if settings.output == RINGBUF:
        return 0
    return _pages(settings.packet_bufsize if settings.output == MIXED else settings.bufsize)


def _pages(wanted: int) -> int:
    size = pages.PAGE
    while size < wanted:
        size *= 2
    return size


def is_perf(g: Generation, has_packet: bool = False) -> bool:
    """Whether a record, one that ends in a packet or another one, goes into a perf ring."""
    return has_packet or g.shared.settings.output in _IN_PERF_RINGS


def is_built(g: Generation, has_packet: bool = False) -> bool:
    """Whether a record, one that ends in a packet or another one, is built elsewhere and copied into its ring, since
    nothing can be reserved there."""
    return has_packet or g.shared.settings.output == PERF


def reserve(g: Generation, size: int, full: int) -> Reg:
    """Room for a record of `size` bytes in its ring; go to `full` if there is none."""
    if g.shared.settings.output != PERF_RESERVE:
        found = g.call("ringbuf_reserve", ring(g, full), Imm(size), Imm(0))
        g.b.branch("eq", found, Imm(0), full)
        return found
    whole = RING_HEADER + size + ROUNDING & -ALIGNMENT
    image = g.call("perf_event_reserve", MapDescriptor(PERF_RINGS), Imm(whole), Imm(_CURRENT_CPU))
    g.b.branch("eq", image, Imm(0), full)
    g.b.store(image, 0, 8, Imm(size))
    return g.b.in_register(g.b.alu("add", image, Imm(RING_HEADER)))


def submit(g: Generation, record: Reg) -> None:
    """What was reserved is filled."""
    _release(g, record, "ringbuf_submit", 0)


def discard(g: Generation, record: Reg) -> None:
    """What was reserved is not to be read."""
    _release(g, record, "ringbuf_discard", DISCARD_SLOT)


def _release(g: Generation, record: Reg, helper: str, flags: int) -> None:
    if g.shared.settings.output != PERF_RESERVE:
        g.call(helper, record, Imm(0))
        return
    g.call("perf_event_commit", g.b.in_register(g.b.alu("sub", record, Imm(RING_HEADER))), Imm(flags))


def ring(g: Generation, missing: int) -> MapDescriptor | Reg:
    """The BPF ring buffer of this CPU, or the one of all; go to `missing` if there is none (which cannot be)."""
    if not g.shared.settings.rings_per_cpu:
        return MapDescriptor(RING)
    cpu = g.b.slot(8)
    g.b.store(cpu, 0, 8, g.call("get_smp_processor_id", pure="cpu"))
    found = g.call("map_lookup_elem", MapDescriptor("rings"), SlotAddress(cpu))
    g.b.release(cpu)
    g.b.branch("eq", found, Imm(0), missing)
    return found


def write_image(
    g: Generation, image: Reg | SlotAddress, size: Operand, missing: int, appended: Operand = NOTHING,
    skb: Operand | None = None,
) -> Reg:  # fmt: skip
    """Write an image whose first `size` bytes, a multiple of 8, are at that address, into this CPU's perf ring; less
    than 0 if it found no room. Go to `missing` if the map of `WRITING` has no element (which cannot be).

    The kernel appends as many bytes of the packet that the program was run for, or of `skb`, as `appended` says.
    """
    key = g.b.slot(8)
    g.b.store(key, 0, 8, Imm(0))
    writing = g.call("map_lookup_elem", MapDescriptor(WRITING), SlotAddress(key))
    g.b.release(key)
    g.b.branch("eq", writing, Imm(0), missing)
    flags = g.b.alu("or", g.b.alu("lsh", appended, Imm(_APPENDED)), Imm(_CURRENT_CPU))
    g.b.atomic_add(writing, 0, Imm(1))
    if g.shared.settings.output == MIXED and not g.shared.settings.rings_per_cpu:
        assert isinstance(image, Reg)
        g.b.store(image, 4, 4, g.call("ringbuf_query", MapDescriptor(RING), Imm(_PRODUCER_POSITION)))
    helper, packet = ("perf_event_output", g.ctx) if skb is None else ("skb_output", g.b.in_register(skb))
    result = g.call(helper, packet, MapDescriptor(PERF_RINGS), flags, image, size)
    g.b.atomic_add(writing, 0, Imm(-1))
    return result
