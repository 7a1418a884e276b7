"""The packet that a program is run for: what its context tells of it, and its bytes.

The context is struct __sk_buff or, in XDP, struct xdp_md (include/uapi/linux/bpf.h), with the packet from its link
header on.
"""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.basis import kernels
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Operand, SlotAddress
from sonde.codegen.routines.packet_headers import FRAGMENTS, LINEAR, SKB, load
from sonde.model.errors import UNSUPPORTED, Position, SourceError
from sonde.model.probe import Packet
from sonde.typed import NamedTuple

_LENGTH, _INTERFACE = 0, 40
"""In struct __sk_buff: len, ifindex."""

_XDP_DATA, _XDP_END, _XDP_INTERFACE = 0, 4, 12
"""In struct xdp_md: data, data_end, ingress_ifindex."""

_FILED = "packet_lengths"
"""The target's feature that a helper tells how long packets are of which there are only the first bytes."""

_KINDS = (programs.SCHED_CLS, programs.XDP, programs.SOCKET_FILTER)
"""Programs whose context is a packet's."""


class PassingPacket(NamedTuple):
    """`link` is the kind of its link header, as `probe.Packet` has it."""

    is_xdp: bool
    link: str

    def length(self, g: Generation) -> Operand:
        """The bytes that the packet had, from its link header on."""
        if _FILED in g.shared.target.features:
            return g.call("packet_length", g.ctx, pure="packet")
        return self.present(g)

    def present(self, g: Generation) -> Operand:
        """The bytes of it that there are: all, but of a packet of a file."""
        if not self.is_xdp:
            return g.b.load(g.ctx, _LENGTH, 4, invariant=True)
        if kernels.has_fragments(g):
            return g.call("xdp_get_buff_len", g.ctx, pure="packet")
        end = g.b.load(g.ctx, _XDP_END, 4, invariant=True)
        return g.b.alu("sub", end, g.b.load(g.ctx, _XDP_DATA, 4, invariant=True))

    def interface(self, g: Generation) -> Operand:
        """The number of the device."""
        return g.b.load(g.ctx, _XDP_INTERFACE if self.is_xdp else _INTERFACE, 4, invariant=True)

    def reader(self, g: Generation) -> str:
        """How programs of this kind read the packet, as `routines/packet_headers.py` names it."""
        if not self.is_xdp:
            return SKB
        return FRAGMENTS if kernels.has_fragments(g) else LINEAR

    def load(self, g: Generation, offset: Operand, memory: Memory, size: int) -> None:
        """Copy `size` bytes of the packet, at most 16; zeros where it has not so many."""
        slot = g.b.slot(16)
        load(g.b, self.reader(g), g.ctx, offset, SlotAddress(slot), size)
        for start in range(0, size, 8):
            g.b.store(memory.base, memory.offset + start, 8, g.b.load(slot, start, 8))
        g.b.release(slot)


def passing_packet(g: Generation, what: str, position: Position) -> PassingPacket:
    """The packet of the program's context, for `what`. Raises SourceError where its probes have none."""
    firing = g.context.probes[0].firing
    if g.context.kind not in _KINDS or not isinstance(firing, Packet):
        text = f"{what} is for packets, and {g.context.probes[0]} has none"
        raise SourceError(UNSUPPORTED, text, position, "packet:DEVICE:ingress: and packet:DEVICE:egress: have them")
    return PassingPacket(g.context.kind == programs.XDP, firing.link)
