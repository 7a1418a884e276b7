"""The code that gets a record's memory, fills in its header and hands it over.

The record is reserved in the ring and every value is generated straight into it. Where the ring is full the same code
writes to per-CPU memory that nobody reads, and the loss is counted, so that the clause's other effects still happen.
A record that belongs to a speculation is counted there first, and given back if it does not come about.
"""

from __future__ import annotations

from collections import deque

from sonde.bpf import maps as kinds
from sonde.codegen import speculations
from sonde.codegen.faults import BAD_ADDRESS, fault_if
from sonde.codegen.generation import Generation, Record
from sonde.codegen.ir import Imm, MapDescriptor, Operand, Reg, SlotAddress
from sonde.codegen.names import probe_id
from sonde.codegen.places import Memory
from sonde.codegen.plan import Recorded
from sonde.spec import HEADER_SIZE, Field, MapSpec

RING = "ring"


def begin(g: Generation, recorded: Recorded) -> None:
    """Get memory for the record and write its header."""
    g.fields = deque(recorded.fields)
    layout = recorded.layout
    if recorded.tail:
        _begin_long(g, recorded)
        return
    size = Imm(layout.size)
    base, reserved = g.b.register(), g.b.register()
    full, lost, ready = g.b.label(), g.b.label(), g.b.label()
    speculations.enter(g, size, lost)
    g.b.move(base, g.call("ringbuf_reserve", ring_argument(g, full), size, Imm(0)))
    g.b.move(reserved, Imm(1))
    g.b.branch("ne", base, Imm(0), ready, full)
    g.b.place(full)
    _count_loss(g, size)
    g.b.place(lost)
    g.b.move(reserved, Imm(0))
    g.b.move(base, _spare(g, layout.size))
    g.b.branch("eq", base, Imm(0), g.exit)
    g.b.place(ready)
    g.record = Record(base, reserved, layout.size)
    header(g, base, layout.number, g.speculation or Imm(0))


def _begin_long(g: Generation, recorded: Recorded) -> None:
    """A record whose length is known only when its strings are: built in scratch memory, then copied to the ring."""
    size = recorded.layout.size
    base = g.address(g.lasting(size + recorded.tail))
    g.record = Record(base, None, size, g.b.copy(Imm(0)))
    header(g, base, recorded.layout.number, g.speculation or Imm(0))


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


def append_string(g: Generation, text: Memory, size: int, field: Memory) -> None:
    """Put a string of at most `size` bytes behind what the record has, and its place and length into the field."""
    record = g.record
    assert record is not None
    assert record.tail is not None
    g.b.store(field.base, field.offset, 4, g.b.alu("add", record.tail, Imm(record.fixed)))
    target = g.b.in_register(g.b.alu("add", g.b.alu("add", record.base, Imm(record.fixed)), record.tail))
    got = g.call("probe_read_kernel_str", target, Imm(size), g.address(text))
    length = g.b.alu("sub", got, Imm(1))
    # It cannot fail, but the verifier does not know; and one way to go on is half the work for it of two.
    fault_if(g, "ge", length, Imm(size), BAD_ADDRESS, Imm(0))
    g.b.store(field.base, field.offset + 4, 4, length)
    g.b.move(record.tail, g.b.alu("add", record.tail, length))


def ring_argument(g: Generation, missing: int) -> MapDescriptor | Reg:
    """The ring of this CPU, or the one of all; go to `missing` if there is none (which cannot be)."""
    if not g.shared.settings.rings_per_cpu:
        return MapDescriptor(RING)
    cpu = g.b.slot(8)
    g.b.store(cpu, 0, 4, g.call("get_smp_processor_id", pure="cpu"))
    ring = g.call("map_lookup_elem", MapDescriptor("rings"), SlotAddress(cpu))
    g.b.release(cpu)
    g.b.branch("eq", ring, Imm(0), missing)
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


def header(g: Generation, base: Reg, layout: int, speculation: Operand) -> None:
    """Layout, probe, CPU and speculation."""
    g.b.store(base, 0, 4, Imm(layout))
    g.b.store(base, 4, 4, probe_id(g))
    g.b.store(base, 8, 4, g.call("get_smp_processor_id", pure="cpu"))
    g.b.store(base, 12, 4, speculation)


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
    lost = g.b.label()
    speculations.enter(g, size, lost)
    result = g.call("ringbuf_output", ring_argument(g, lost), record.base, size, Imm(0))
    with g.b.when("slt", result, Imm(0)):
        _count_loss(g, size)
    g.b.place(lost)


def discard(g: Generation) -> None:
    """Give the record's memory back."""
    assert g.record is not None
    if g.record.reserved is not None:
        with g.b.when("ne", g.record.reserved, Imm(0)):
            g.call("ringbuf_discard", g.record.base, Imm(0))
            speculations.give_up(g, Imm(g.record.fixed))


def next_field(g: Generation) -> Field:
    return g.fields.popleft()


def memory(g: Generation) -> Memory:
    assert g.record is not None
    return Memory(g.record.base, 0)


def submit_fault(g: Generation, epid: Operand, values: tuple[Operand, ...]) -> None:
    """The record that reports a fault: clause 0, the ERROR probe, then what faulted and how."""
    size = HEADER_SIZE + 32
    lost, end = g.b.label(), g.b.label()
    base = g.call("ringbuf_reserve", ring_argument(g, lost), Imm(size), Imm(0))
    g.b.branch("eq", base, Imm(0), lost)
    header(g, base, 0, Imm(0))
    g.b.store(base, HEADER_SIZE, 8, epid)
    for number, value in enumerate(values):
        g.b.store(base, HEADER_SIZE + 8 + 8 * number, 8, value)
    g.call("ringbuf_submit", base, Imm(0))
    g.b.jump(end)
    g.b.place(lost)
    g.count("records")
    g.b.place(end)
