"""pcap(): a packet of the network into the record.

A struct sk_buff has its first bytes at `data`; the last `data_len` of its `len` bytes are in pages. Where the kernel
knows that it is one it puts all of it behind the record. Otherwise what is in pages is left out.
"""

from __future__ import annotations

from sonde.codegen.basis import firing_records
from sonde.codegen.basis.faults import BAD_ADDRESS, fault
from sonde.codegen.basis.generation import REPLAYS, Generation, Unsupported
from sonde.codegen.basis.places import Memory, Remote
from sonde.codegen.basis.uses import known_packet
from sonde.codegen.expressions.access import load_bytes
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.records import writing
from sonde.model import firing_record
from sonde.model import program as tree
from sonde.model.types import LONG, Struct, size_of


def record(g: Generation, s: tree.Act) -> None:
    """The fields of a `PacketAction`, in its order."""
    packet, link, *most = s.arguments
    time, length, captured, kind, data = (writing.next_field(g) for _ in range(5))
    assert g.record is not None
    base = g.record.base
    g.b.store(base, time.offset, time.size, g.value(tree.Builtin(LONG, s.position, "walltimestamp")))
    g.b.store(base, kind.offset, kind.size, g.value(link))
    address = g.value(packet)
    whole = _member(g, s, address, "len")
    wanted = _limited(g, whole, g.value(most[0])) if most else whole
    if g.record.appended is not None and data.kind == "long_bytes":
        g.b.store(base, length.offset, length.size, whole)
        _append(g, s, wanted)
        return
    start = _member(g, s, address, "data")
    linear = g.b.copy(g.b.alu("sub", whole, _member(g, s, address, "data_len")))
    if most:
        g.b.move(linear, _limited(g, linear, wanted))
    with g.b.when("gt", linear, Imm(data.size)):
        g.b.move(linear, Imm(data.size))
    g.b.store(base, length.offset, length.size, whole)
    g.b.store(base, captured.offset, captured.size, linear)
    result = g.call("probe_read_kernel", g.argument_of(base, data.offset), linear, start)
    if g.firing_record is not None:
        firing_records.read(g, firing_record.KERNEL, start, linear, result, Memory(base, data.offset))
    with g.b.when("slt", result, Imm(0)):
        fault(g, BAD_ADDRESS, start)


def _limited(g: Generation, length: Operand, most: Operand) -> Operand:
    """A length that is not more than wanted."""
    most = g.b.in_register(most)
    return g.b.choose("gt", length, most, lambda: most, lambda: length)


def _append(g: Generation, s: tree.Act, wanted: Operand) -> None:
    """Have the kernel put the packet behind the record, pages and all (bpf_skb_output)."""
    assert g.clause is not None
    assert g.record is not None
    assert g.record.appended is not None
    number = known_packet(s, g.clause.probes)
    assert number is not None
    if g.firing_packet is not None:
        g.b.move(g.firing_packet.wanted, wanted)
    g.b.move(g.record.appended, wanted)
    with g.b.when("gt", wanted, Imm(g.shared.settings.pcapsize)):
        g.b.move(g.record.appended, Imm(g.shared.settings.pcapsize))
    if REPLAYS in g.shared.target.features:
        # The packet of the firing is the one, as far as it was recorded.
        g.b.move(g.record.appended, g.call("firing_packet", g.record.appended))
        return
    g.record = g.record._replace(skb=g.context.argument(g, number))


def _member(g: Generation, s: tree.Act, packet: Operand, name: str) -> Operand:
    structure = g.shared.kernel_type("struct", "sk_buff")
    found = structure.find(name) if isinstance(structure, Struct) else None
    if found is None:
        raise Unsupported(f"pcap() (this kernel's BTF has no sk_buff.{name})", s.position)
    return load_bytes(g, Remote(packet, found.offset // 8, False), size_of(found.type), False)
