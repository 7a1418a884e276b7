"""What is attached to devices, and the way of a packet by it: the order of the hooks, and what their results do.

A packet that arrives meets XDP, then packet sockets, then tcx (__netif_receive_skb_core, net/core/dev.c); one that
leaves meets tcx first. XDP's program passes it on or not; of tcx the first program that has an opinion decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.bpf import programs
from sonde.engines.embedded.sources.packet_contexts import SkbContext, XdpContext
from sonde.formats.captured_file import FiledPacket
from sonde.model.probe import Packet, Probe
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.programs.ready import ReadyProgram, Run
from sonde.typed import NamedTuple, Protocol

_XDP_PASS = 2
_TCX_NEXT, _TCX_PASS = 0xFFFFFFFF, 0
_U32 = 0xFFFFFFFF


class Hooked(NamedTuple):
    """A program at a device, and the cookie that it finds."""

    run: Run
    cookie: int
    is_linear: bool
    probe: int
    """Its identifier."""


class DevicePlace(NamedTuple):
    """Where a packet is: the device, its number, what its packets begin with (`model.probe.link_of`), and whether the
    bytes are those behind the kernel's look at tags."""

    device: str
    number: int
    link: str
    is_untagged: bool


class PassingContext(Protocol):
    """The context of a packet, as `packet_contexts.py` makes it."""

    def passing(self, environment: Environment) -> bytes:
        """What it tells of the packet, as recordings have it."""


class PacketTap(Protocol):
    """What records firings."""

    def packet(self, run: Run, probe: Probe, context: PassingContext) -> Run:
        """A program as it is run for a packet, and then recorded."""


class _Hooks:
    """The programs at one device for one direction, by their kinds, in the order of the spec."""

    def __init__(self) -> None:
        self.xdp: list[Hooked] = []
        self.sockets: list[Hooked] = []
        self.tcx: list[Hooked] = []


class DeviceHooks:
    """The programs of a session that are attached to devices."""

    def __init__(
        self, ready: Iterable[ReadyProgram], memory: MachineMemory, environment: Environment,
        tap: PacketTap | None = None,
    ) -> None:  # fmt: skip
        """`tap` records what fires programs."""
        self._environment, self._tap = environment, tap
        self._skb = SkbContext(memory)
        self._xdp = XdpContext(memory)
        self._at: dict[tuple[str, bool], _Hooks] = {}
        for each in ready:
            for probe, cookie in each.probes:
                if isinstance(probe.firing, Packet):
                    self._attach(each, probe, probe.firing, cookie)

    def _attach(self, ready: ReadyProgram, probe: Probe, firing: Packet, cookie: int) -> None:
        is_linear = not ready.spec.flags & programs.F_XDP_HAS_FRAGS
        run = ready.run
        if self._tap is not None:
            run = self._tap.packet(run, probe, self._xdp if ready.spec.kind == programs.XDP else self._skb)
        hooked = Hooked(run, cookie, is_linear, probe.id)
        if ready.spec.kind == programs.SOCKET_FILTER:
            # A socket has the packets of both directions.
            for is_egress in (False, True):
                self._hooks(firing.device, is_egress).sockets.append(hooked)
            return
        hooks = self._hooks(firing.device, firing.is_egress)
        (hooks.xdp if ready.spec.kind == programs.XDP else hooks.tcx).append(hooked)

    def _hooks(self, device: str, is_egress: bool) -> _Hooks:
        return self._at.setdefault((device, is_egress), _Hooks())

    def pass_by(self, place: DevicePlace, is_egress: bool, packet: FiledPacket) -> None:
        """A packet of a device, as far as programs let it."""
        hooks = self._at.get((place.device, is_egress))
        if hooks is None:
            return
        if hooks.xdp and not self._meets_xdp(hooks, place, packet):
            return
        if not (hooks.sockets or hooks.tcx):
            return
        untags = not (is_egress or place.is_untagged)
        address = self._skb.fill(self._environment, packet, place.number, place.link, is_egress, untags)
        if not address:
            return
        if is_egress:
            if self._meets_tcx(hooks, address):
                self._skb.set_outgoing()
                self._meets_sockets(hooks, address)
        else:
            self._meets_sockets(hooks, address)
            self._meets_tcx(hooks, address)

    def _run(self, hooked: Hooked, kind: int, address: int) -> int:
        environment = self._environment
        environment.kind, environment.cookie, environment.tail_calls = kind, hooked.cookie, 0
        environment.probe = hooked.probe
        return hooked.run(address) & _U32

    def _meets_xdp(self, hooks: _Hooks, place: DevicePlace, packet: FiledPacket) -> bool:
        """Whether it goes on."""
        for each in hooks.xdp:
            address = self._xdp.fill(self._environment, packet, place.number, each.is_linear)
            if self._run(each, programs.XDP, address) != _XDP_PASS:
                return False
        return True

    def _meets_sockets(self, hooks: _Hooks, address: int) -> None:
        for each in hooks.sockets:
            self._run(each, programs.SOCKET_FILTER, address)

    def _meets_tcx(self, hooks: _Hooks, address: int) -> bool:
        """Whether it goes on."""
        for each in hooks.tcx:
            result = self._run(each, programs.SCHED_CLS, address)
            if result != _TCX_NEXT:
                return result == _TCX_PASS
        return True
