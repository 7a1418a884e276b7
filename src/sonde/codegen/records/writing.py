"""The code that gets a record's memory, fills in its header and hands it over.

The record is reserved in the ring and every value is generated straight into it. Where the ring is full the same code
writes to per-CPU memory that nobody reads, and the loss is counted, so that the clause's other effects still happen.
A record that belongs to a speculation is counted there first, and given back if it does not come about.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sonde.bpf import maps as kinds
from sonde.codegen.basis import outputs
from sonde.codegen.basis.clause_state import OpenRecord
from sonde.codegen.basis.generation import REPLAYS, Generation
from sonde.codegen.basis.names import probe_id
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions import clock
from sonde.codegen.intermediate.ir import Base, Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.records import speculations
from sonde.codegen.records.plan import Recorded
from sonde.formats.bpf_ring import ALIGNMENT, RING_HEADER, ROUNDING
from sonde.model.errors import UNSUPPORTED, SourceError
from sonde.model.named_maps import PACKET_LOSSES
from sonde.model.records import CPU_AT, HEADER_SIZE, PROBE_AT, SPECULATION_AT, UNRECORDED, Field
from sonde.model.spec import MapSpec

_PACKET_LOSSES = MapSpec(PACKET_LOSSES, kinds.HASH, 4, 8, 4096, kinds.F_NO_PREALLOC)
"""Of as many probes: two for each device."""


def begin(g: Generation, recorded: Recorded) -> None:
    """Get memory for the record and write its header."""
    g.fields = deque(recorded.fields)
    layout = recorded.layout
    now = clock.reading(g) if layout.time else None
    _check_size(g, recorded)
    if recorded.tail or outputs.is_built(g, recorded.packet is not None):
        _begin_built(g, recorded)
        _write_time(g, layout.time, now)
        return
    size = Imm(layout.size)
    if g.shared.settings.records:
        # Of what is traced nothing is kept but the firing.
        base = g.address(g.lasting(layout.size))
        g.record = OpenRecord(base, g.b.copy(Imm(0)), layout.size)
        header(g, base, 0, layout.number, Imm(0))
        return
    base, reserved = g.b.register(), g.b.register()
    full, lost, ready = g.b.label(), g.b.label(), g.b.label()
    speculations.enter(g, size, lost)
    g.b.move(base, outputs.reserve(g, layout.size, full))
    g.b.move(reserved, Imm(1))
    g.b.jump(ready)
    g.b.place(full)
    _count_loss(g, size)
    g.b.place(lost)
    g.b.move(reserved, Imm(0))
    g.b.move(base, _spare(g, layout.size))
    g.b.branch("eq", base, Imm(0), g.exit)
    g.b.place(ready)
    g.record = OpenRecord(base, reserved, layout.size)
    header(g, base, 0, layout.number, g.speculation or Imm(0))
    _write_time(g, layout.time, now)


def _write_time(g: Generation, field: Field | None, now: Operand | None) -> None:
    if field is not None and now is not None:
        place = memory(g)
        g.b.store(place.base, place.offset + field.offset, field.size, now)


def _check_size(g: Generation, recorded: Recorded) -> None:
    """Raises SourceError for a record that its ring cannot take."""
    layout = recorded.layout
    if outputs.is_perf(g, recorded.packet is not None) and layout.size > outputs.LARGEST_RECORD:
        assert g.clause is not None
        text = f"a record of {layout.size} bytes, where a perf ring takes no more than {outputs.LARGEST_RECORD}"
        raise SourceError(UNSUPPORTED, text, g.clause.position, "record less at once, or use -xoutput=ringbuf")


def _begin_built(g: Generation, recorded: Recorded) -> None:
    """A record that is built in scratch memory, which is this firing's alone, then copied: one whose length is known
    only when its strings are, or any where nothing can be reserved."""
    layout = recorded.layout
    # The verifier believes a length that was rounded up to be by a word more than it can be.
    memory = g.lasting(RING_HEADER + layout.size + recorded.tail + 8)
    base = g.address(Memory(memory.base, memory.offset + RING_HEADER))
    tail, appended = (g.b.copy(Imm(0)) if used else None for used in (recorded.tail, recorded.packet))
    g.record = OpenRecord(base, None, layout.size, tail, recorded.tail, appended, recorded.packet)
    header(g, base, 0, layout.number, g.speculation or Imm(0))


def _count_loss(g: Generation, size: Operand) -> None:
    """The ring was full: count the loss of a record, or of one that belongs to a speculation."""
    if g.speculation is None:
        g.count("records")
        return
    plain, speculative, end = g.b.label(), g.b.label(), g.b.label()
    g.b.branch("eq", g.speculation, Imm(0), plain, speculative)
    g.b.place(speculative)
    g.count("speculations")
    speculations.give_up(g, size)
    g.b.jump(end)
    g.b.place(plain)
    g.count("records")
    g.b.place(end)


def _count_packet_loss(g: Generation) -> None:
    """The same for the probe, whose packet it was."""
    losses = MapDescriptor(g.shared.maps.add(_PACKET_LOSSES))
    key, zero = g.b.slot(8), g.b.slot(8)
    g.b.store(key, 0, 8, probe_id(g))
    g.b.store(zero, 0, 8, Imm(0))
    g.call("map_update_elem", losses, SlotAddress(key), SlotAddress(zero), Imm(kinds.NOEXIST))
    found = g.call("map_lookup_elem", losses, SlotAddress(key))
    with g.b.when("ne", found, Imm(0)):
        g.b.atomic_add(found, 0, Imm(1))
    g.b.release(key)
    g.b.release(zero)


def _spare(g: Generation, size: int) -> Operand:
    key = g.b.slot(8)
    g.b.store(key, 0, 8, g.call("get_smp_processor_id", pure="cpu"))
    spec = MapSpec("spare", kinds.ARRAY, 4, size, 1, by_cpu="any")
    g.shared.maps.add(spec)
    if g.shared.maps.specs["spare"].value_size < size:
        g.shared.maps.resize("spare", size)
    result = g.call("map_lookup_elem", MapDescriptor("spare"), SlotAddress(key))
    g.b.release(key)
    return result


def header(g: Generation, base: Base, offset: int, layout: int, speculation: Operand) -> None:
    """Layout, probe, CPU and speculation."""
    g.b.store(base, offset, 4, Imm(layout))
    g.b.store(base, offset + PROBE_AT, 4, probe_id(g))
    g.b.store(base, offset + CPU_AT, 4, g.cpu_number())
    g.b.store(base, offset + SPECULATION_AT, 4, speculation)


def submit(g: Generation) -> None:
    """Hand the record over to the consumer."""
    record = g.record
    assert record is not None
    if record.reserved is not None:
        with g.b.when("ne", record.reserved, Imm(0)):
            outputs.submit(g, record.base)
        return
    if g.shared.settings.records:
        return
    size: Operand = Imm(record.fixed)
    if record.tail is not None:
        size = g.b.in_register(g.b.alu("add", record.tail, size))
    full, lost = g.b.label(), g.b.label()
    speculations.enter(g, size, lost)
    result = _send(g, record, size, full)
    g.b.branch("sge", result, Imm(0), lost, full)
    g.b.place(full)
    _count_loss(g, size)
    if record.appended is not None:
        _count_packet_loss(g)
    g.b.place(lost)


def _send(g: Generation, record: OpenRecord, size: Operand, full: int) -> Reg:
    """Copy a record that was built: less than 0, or on to `full`, if it found no room."""
    if not outputs.is_perf(g, record.packet is not None):
        return g.call("ringbuf_output", outputs.ring(g, full), record.base, size, Imm(0))
    if record.fixed + record.most_tail > outputs.LARGEST_RECORD:
        g.b.branch("gt", size, Imm(outputs.LARGEST_RECORD), full)
    image = g.b.in_register(g.b.alu("sub", record.base, Imm(RING_HEADER)))
    whole = g.b.alu("and", g.b.alu("add", size, Imm(ROUNDING)), Imm(-ALIGNMENT))
    if record.appended is None:
        g.b.store(record.base, -RING_HEADER, 8, size)
        return outputs.write_image(g, image, whole, full)
    start = g.b.alu("sub", whole, Imm(RING_HEADER))
    _append(g, record, start)
    return outputs.write_image(g, image, whole, full, record.appended, record.skb)


def _append(g: Generation, record: OpenRecord, start: Operand) -> None:
    """Say that a packet begins `start` bytes into the record, no more of it than a perf ring can take."""
    assert record.appended is not None
    assert record.packet is not None
    room = g.b.alu("sub", Imm(outputs.LARGEST_RECORD), start)
    with g.b.when("gt", record.appended, room):
        g.b.move(record.appended, room)
        g.count("captures")
    g.b.store(record.base, record.packet.offset, 4, start)
    g.b.store(record.base, record.packet.offset + 4, 4, record.appended)
    g.b.store(record.base, -RING_HEADER, 8, g.b.alu("add", start, record.appended))


def discard(g: Generation) -> None:
    """Give the record's memory back."""
    assert g.record is not None
    if g.record.reserved is not None:
        with g.b.when("ne", g.record.reserved, Imm(0)):
            outputs.discard(g, g.record.base)
            speculations.give_up(g, Imm(g.record.fixed))


def next_field(g: Generation) -> Field:
    return g.fields.popleft()


def memory(g: Generation) -> Memory:
    assert g.record is not None
    return Memory(g.record.base, 0)


def submit_fault(g: Generation, epid: Operand, values: tuple[Operand, ...]) -> None:
    """The record that reports a fault: clause 0, the ERROR probe, then what faulted and how."""
    if g.shared.settings.records:
        return
    size = HEADER_SIZE + 32
    lost, end = g.b.label(), g.b.label()
    if REPLAYS in g.shared.target.features:
        pc, code, wrong = values
        missed = g.call("firing_missed", wrong)
        values = pc, g.b.choose("ne", missed, Imm(0), lambda: Imm(UNRECORDED), lambda: code), wrong

    def fill(base: Base, offset: int) -> None:
        header(g, base, offset, 0, Imm(0))
        for number, value in enumerate((epid, *values)):
            g.b.store(base, offset + HEADER_SIZE + 8 * number, 8, value)

    if outputs.is_built(g):
        submit_small(g, size, fill, lost)
    else:
        base = outputs.reserve(g, size, lost)
        fill(base, 0)
        outputs.submit(g, base)
    g.b.jump(end)
    g.b.place(lost)
    g.count("records")
    g.b.place(end)


def submit_small(g: Generation, size: int, fill: Callable[[Base, int], None], lost: int) -> None:
    """Write a record of few bytes, which `fill` puts where it is told, from the stack into the perf ring; on to `lost`
    if that has no room."""
    image = g.b.slot(RING_HEADER + size)
    g.b.store(image, 0, 8, Imm(size))
    fill(image, RING_HEADER)
    result = outputs.write_image(g, SlotAddress(image), Imm(RING_HEADER + size), lost)
    g.b.release(image)
    g.b.branch("slt", result, Imm(0), lost)
