"""Hidden subroutines that the library packet.d is made of: what stands where in the packet that is passing.

`__packet_headers()` is a word of `routines/packet_headers.headers`, `__packet_tag()` the VLAN,
`__packet_number(offset, size)` an unsigned number in network order, `__packet_text(kind, offset)` an address as text,
`kind` being a constant: 4 or 6 for the versions of IP, 1 for Ethernet. What is behind the end of the packet is zeros.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.packet_access import passing_packet
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.codegen.routines.texts import INPUT, SIZE
from sonde.codegen.subroutines import addresses
from sonde.codegen.subroutines.results import moved
from sonde.model import program as tree

_BYTES = {4: 4, 6: 16, 1: 6}
"""Of an address, by its kind."""

_PURE = "packet"
"""Nothing in a program changes the packet."""


def headers(g: Generation, e: tree.Call) -> Operand:
    packet = passing_packet(g, "args[0]", e.position)
    if not packet.link:
        return Imm(0)
    return g.routine(f"packet_headers_{packet.reader(g)}_{packet.link}", g.ctx, pure=_PURE)


def tag(g: Generation, e: tree.Call) -> Operand:
    packet = passing_packet(g, "args[0]", e.position)
    return g.routine(f"packet_tag_{packet.reader(g)}", g.ctx, pure=_PURE)


def number(g: Generation, e: tree.Call) -> Operand:
    packet = passing_packet(g, "args[0]", e.position)
    offset = g.b.in_register(g.value(e.arguments[0]))
    return g.routine(f"packet_number_{packet.reader(g)}_{_constant(e.arguments[1])}", g.ctx, offset, pure=_PURE)


def text(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    packet = passing_packet(g, "args[0]", e.position)
    kind = _constant(e.arguments[0])
    if kind != 4:
        require_loops(g, "an address as text", e.position)
    work = g.framed(SIZE)
    packet.load(g, g.value(e.arguments[1]), moved(work, INPUT), _BYTES[kind])
    addresses.show(g, kind, work, memory, size)


def _constant(e: tree.Expr) -> int:
    while isinstance(e, tree.Cast):
        e = e.operand
    assert isinstance(e, tree.Const)
    return e.value
