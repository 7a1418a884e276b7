"""Packets of a network device: programs run for each at tcx, in XDP or as filter of a packet socket.

The context tells of the packet (`codegen/expressions/packet_access.py`). What a program returns lets it pass to whoever
is next.
"""

from __future__ import annotations

from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Place
from sonde.codegen.expressions.packet_access import PassingPacket
from sonde.codegen.firings.cookies import index_by_cookie, numbered
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.probe import SOCKET, TCX, XDP_GENERIC, XDP_NATIVE, Packet, Probe
from sonde.model.types import Type

_KIND = 4
"""In struct __sk_buff: pkt_type."""

_OUTGOING = 4
"""PACKET_OUTGOING (include/uapi/linux/if_packet.h)."""

_COOKIE = "packet_cookie"
"""No kernel has an attach cookie for these programs: there is one copy of the program for each device. Of a file, which
may tell of any number of them, there is one for all."""

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
        is_xdp = self.kind == programs.XDP
        self.attach_type = programs.ATTACH_XDP if is_xdp else programs.ATTACH_NONE
        self._firing = firing
        self._packet = PassingPacket(is_xdp, firing.link)

    def enter(self, g: Generation) -> Operand:
        g.result = Imm(_PASS[self._firing.hook])
        g.lacks = _LACKS
        if self._firing.hook == SOCKET:
            # A socket has the packets of both directions.
            kind = g.b.load(g.ctx, _KIND, 4, invariant=True)
            g.b.branch("ne" if self._firing.is_egress else "eq", kind, Imm(_OUTGOING), g.leave)
        return index_by_cookie(g, len(self.probes), _COOKIE, _COOKIE)

    def argument(self, g: Generation, number: int) -> Operand:
        """arg0 is the length."""
        return self._packet.length(g) if number == 0 else Imm(0)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return self.argument(g, number)
