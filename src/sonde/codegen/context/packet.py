"""Packets of a network device: programs run for each at tcx, in XDP or as filter of a packet socket.

The context is struct __sk_buff or, in XDP, struct xdp_md (include/uapi/linux/bpf.h), with the packet from its link
header on. What a program returns lets the packet pass to whoever is next.
"""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen import kernels
from sonde.codegen.context.cookies import index_by_cookie, numbered
from sonde.codegen.context.plain import no_errno, trusts_nothing
from sonde.codegen.generation import Generation
from sonde.codegen.ir import Imm, Operand, SlotAddress
from sonde.codegen.places import Memory, Place
from sonde.codegen.routines.packets import FRAGMENTS, LINEAR, SKB, load
from sonde.lang.errors import DError, Position
from sonde.lang.types import Type
from sonde.probe import SOCKET, TCX, XDP_GENERIC, XDP_NATIVE, Packet, Probe

_LENGTH, _KIND, _INTERFACE = 0, 4, 40
"""In struct __sk_buff: len, pkt_type, ifindex."""

_XDP_DATA, _XDP_END, _XDP_INTERFACE = 0, 4, 12
"""In struct xdp_md: data, data_end, ingress_ifindex."""

_OUTGOING = 4
"""PACKET_OUTGOING (include/uapi/linux/if_packet.h)."""

_NO_COOKIE = ""
"""No kernel has an attach cookie for these programs: there is one copy of the program for each device."""

_TYPES = {
    TCX: programs.SCHED_CLS,
    XDP_NATIVE: programs.XDP,
    XDP_GENERIC: programs.XDP,
    SOCKET: programs.SOCKET_FILTER,
}

_PASS = {TCX: -1, XDP_NATIVE: 2, XDP_GENERIC: 2, SOCKET: 0}
"""TCX_NEXT; XDP_PASS; a socket that keeps nothing of the packet."""


_LACKS = {
    "get_stack": "stack(), ustack() and the like",
    "task_pt_regs": "uregs[]",
    "get_func_ip": "caller",
    "send_signal": "raise() and stop()",
    "probe_write_user": "copyout() and copyoutstr()",
}
"""Helpers of tracing programs that those for packets do not have (tc_cls_act_func_proto, net/core/filter.c)."""


def packet_context(g: Generation, what: str, position: Position) -> PacketContext:
    """The program's context as that of a packet, for `what`. Raises DError where its probes have none."""
    if not isinstance(g.context, PacketContext):
        text = f"{what} is for packets, and {g.context.probes[0]} has none"
        raise DError("D_UNKNOWN", text, position, "packet:DEVICE:ingress: and packet:DEVICE:egress: have them")
    return g.context


class PacketContext:
    """`hook` is that of the probes' firings, which have one direction."""

    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_user = False
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...]) -> None:
        firing = probes[0].firing
        assert isinstance(firing, Packet)
        self.probes = probes
        self.index = numbered(probes)
        self.kind = _TYPES[firing.hook]
        self.attach_type = programs.ATTACH_XDP if self.is_xdp else programs.ATTACH_NONE
        self.link = firing.link
        self._firing = firing

    @property
    def is_xdp(self) -> bool:
        return self.kind == programs.XDP

    def enter(self, g: Generation) -> Operand:
        g.result = Imm(_PASS[self._firing.hook])
        g.lacks = _LACKS
        if self._firing.hook == SOCKET:
            # A socket has the packets of both directions.
            kind = g.b.load(g.ctx, _KIND, 4, invariant=True)
            g.b.branch("ne" if self._firing.is_egress else "eq", kind, Imm(_OUTGOING), g.leave)
        return index_by_cookie(g, len(self.probes), _NO_COOKIE)

    def length(self, g: Generation) -> Operand:
        """The bytes of the packet, from its link header on."""
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
        """How programs of this kind read the packet, as `routines/packets.py` names it."""
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

    def argument(self, g: Generation, number: int) -> Operand:
        """arg0 is the length."""
        return self.length(g) if number == 0 else Imm(0)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return self.argument(g, number)
