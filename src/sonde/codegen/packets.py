"""pcap(): a packet of the network into the record, as far as it is in one piece.

A struct sk_buff has its first bytes at `data`; the last `data_len` of its `len` bytes are in pages, which are left out.
"""

from __future__ import annotations

from sonde.codegen import records
from sonde.codegen.access import load_bytes
from sonde.codegen.faults import BAD_ADDRESS, fault
from sonde.codegen.generation import Generation, Unsupported
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.places import Remote
from sonde.lang import program as tree
from sonde.lang.types import LONG, Struct, size_of


def record(g: Generation, s: tree.Act) -> None:
    """The fields of a `PacketAction`, in its order."""
    packet, link = s.arguments
    time, length, captured, kind, data = (records.next_field(g) for _ in range(5))
    base = records.memory(g).base
    g.b.store(base, time.offset, time.size, g.value(tree.Builtin(LONG, s.position, "walltimestamp")))
    g.b.store(base, kind.offset, kind.size, g.value(link))
    address = g.value(packet)
    whole = _member(g, s, address, "len")
    start = _member(g, s, address, "data")
    linear = g.b.copy(g.b.alu("sub", whole, _member(g, s, address, "data_len")))
    with g.b.when("gt", linear, Imm(data.size)):
        g.b.move(linear, Imm(data.size))
    g.b.store(base, length.offset, length.size, whole)
    g.b.store(base, captured.offset, captured.size, linear)
    result = g.call("probe_read_kernel", g.argument_of(base, data.offset), linear, start)
    with g.b.when("slt", result, Imm(0)):
        fault(g, BAD_ADDRESS, start)


def _member(g: Generation, s: tree.Act, packet: Operand, name: str) -> Operand:
    structure = g.shared.kernel_type("struct", "sk_buff")
    found = structure.find(name) if isinstance(structure, Struct) else None
    if found is None:
        raise Unsupported(f"pcap() (this kernel's BTF has no sk_buff.{name})", s.position)
    return load_bytes(g, Remote(packet, found.offset // 8, False), size_of(found.type), False)
