"""The code that gets a record's memory, fills in its header and hands it over.

The record is reserved in the ring and every value is generated straight into it. Where the ring is full the same code
writes to per-CPU memory that nobody reads, and the loss is counted, so that the clause's other effects still happen.
"""

from __future__ import annotations

from collections import deque

from sonde.bpf import maps as kinds
from sonde.codegen.generation import Generation, Record
from sonde.codegen.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.names import probe_id
from sonde.codegen.places import Memory
from sonde.spec import HEADER_SIZE, Field, MapSpec, RecordLayout

RING = "ring"


def begin(g: Generation, layout: RecordLayout, fields: list[Field], tail: int) -> None:
    """Get memory for the record and write its header."""
    g.fields = deque(fields)
    if tail:
        _begin_long(g, layout, tail)
        return
    size = Imm(layout.size)
    base, reserved = g.b.register(), g.b.register()
    full, ready = g.b.label(), g.b.label()
    g.b.move(base, g.call("ringbuf_reserve", ring_argument(g), size, Imm(0)))
    g.b.move(reserved, Imm(1))
    g.b.branch("ne", base, Imm(0), ready, full)
    g.b.place(full)
    g.count("records")
    g.b.move(reserved, Imm(0))
    g.b.move(base, _spare(g, layout.size))
    g.b.branch("eq", base, Imm(0), g.exit)
    g.b.place(ready)
    g.record = Record(base, reserved)
    _header(g, base, layout.clause)


def _begin_long(g: Generation, layout: RecordLayout, tail: int) -> None:
    """A record whose length is known only when its strings are: built in scratch memory, then copied to the ring."""
    base = g.address(g.lasting(layout.size + tail))
    g.record = Record(base, None, layout.size, g.b.copy(Imm(0)))
    _header(g, base, layout.clause)


def append_string(g: Generation, text: Memory, size: int, field: Memory) -> None:
    """Put a string of at most `size` bytes behind what the record has, and its place and length into the field."""
    record = g.record
    assert record is not None
    assert record.tail is not None
    g.b.store(field.base, field.offset, 4, g.b.alu("add", record.tail, Imm(record.fixed)))
    target = g.b.in_register(g.b.alu("add", g.b.alu("add", record.base, Imm(record.fixed)), record.tail))
    got = g.call("probe_read_kernel_str", target, Imm(size), g.address(text))
    length = g.b.copy(Imm(0))
    with g.b.when("sgt", got, Imm(1)):
        g.b.move(length, g.b.alu("sub", got, Imm(1)))
    with g.b.when("gt", length, Imm(size)):
        g.b.move(length, Imm(0))
    g.b.store(field.base, field.offset + 4, 4, length)
    g.b.move(record.tail, g.b.alu("add", record.tail, length))


def ring_argument(g: Generation) -> MapDescriptor | Reg:
    """The ring of this CPU, or the one of all."""
    if not g.shared.settings.rings_per_cpu:
        return MapDescriptor(RING)
    cpu = g.b.slot(8)
    g.b.store(cpu, 0, 4, g.call("get_smp_processor_id", pure="cpu"))
    ring = g.call("map_lookup_elem", MapDescriptor("rings"), SlotAddress(cpu))
    g.b.release(cpu)
    g.b.branch("eq", ring, Imm(0), g.exit)
    return ring


def _spare(g: Generation, size: int) -> Operand:
    key = g.b.slot(8)
    g.b.store(key, 0, 4, g.call("get_smp_processor_id", pure="cpu"))
    spec = MapSpec("spare", kinds.ARRAY, 4, size, 1, by_cpu="any")
    g.shared.maps.add(spec)
    if g.shared.maps.specs["spare"].value_size < size:
        g.shared.maps.resize("spare", size)
    result = g.call("map_lookup_elem", MapDescriptor("spare"), SlotAddress(key))
    g.b.release(key)
    return result


def _header(g: Generation, base: Reg, clause: int) -> None:
    g.b.store(base, 0, 4, Imm(clause))
    g.b.store(base, 4, 4, probe_id(g))
    g.b.store(base, 8, 4, g.call("get_smp_processor_id", pure="cpu"))
    g.b.store(base, 12, 4, Imm(0))


def submit(g: Generation) -> None:
    """Hand the record over to the consumer."""
    record = g.record
    assert record is not None
    if record.reserved is not None:
        with g.b.when("ne", record.reserved, Imm(0)):
            g.call("ringbuf_submit", record.base, Imm(0))
        return
    assert record.tail is not None
    size = g.b.in_register(g.b.alu("add", record.tail, Imm(record.fixed)))
    result = g.call("ringbuf_output", ring_argument(g), record.base, size, Imm(0))
    with g.b.when("slt", result, Imm(0)):
        g.count("records")


def discard(g: Generation) -> None:
    """Give the record's memory back."""
    assert g.record is not None
    if g.record.reserved is not None:
        with g.b.when("ne", g.record.reserved, Imm(0)):
            g.call("ringbuf_discard", g.record.base, Imm(0))


def next_field(g: Generation) -> Field:
    return g.fields.popleft()


def memory(g: Generation) -> Memory:
    assert g.record is not None
    return Memory(g.record.base, 0)


def submit_fault(g: Generation, epid: Operand, values: tuple[Operand, ...]) -> None:
    """The record that reports a fault: clause 0, the ERROR probe, then what faulted and how."""
    size = HEADER_SIZE + 32
    base = g.call("ringbuf_reserve", ring_argument(g), Imm(size), Imm(0))
    lost, end = g.b.label(), g.b.label()
    g.b.branch("eq", base, Imm(0), lost)
    _header(g, base, 0)
    g.b.store(base, HEADER_SIZE, 8, epid)
    for number, value in enumerate(values):
        g.b.store(base, HEADER_SIZE + 8 + 8 * number, 8, value)
    g.call("ringbuf_submit", base, Imm(0))
    g.b.jump(end)
    g.b.place(lost)
    g.count("records")
    g.b.place(end)
