"""The packets of a recording: contexts for the programs that are run for them, whatever kind of program met them then.

A packet that XDP met has the tag of its VLAN among its bytes, as one that sonde reads of a file; one that was met later
has it told apart, and gets it back where the replayed program is in XDP.
"""

from __future__ import annotations

import struct

from sonde.bpf import programs
from sonde.engines.embedded.sources.packet_contexts import SkbContext, XdpContext, pieces
from sonde.engines.fired import KeptPacket, RecordedFiring
from sonde.formats.captured_file import FiledPacket
from sonde.model.firing_record import PASSING
from sonde.model.probe import Packet
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory

_ADDRESSES = 12
"""Bytes before an Ethernet header's type, where tags are."""


class RecordedPackets:
    """Of one session."""

    def __init__(self, memory: MachineMemory, environment: Environment) -> None:
        self._skb, self._xdp = SkbContext(memory), XdpContext(memory)
        self._environment = environment

    def show(self, fired: RecordedFiring) -> None:
        """Make the packet of any firing the environment's."""
        kept = fired.packet
        self._environment.packet = pieces(memoryview(kept.data)) if kept is not None else None

    def context(self, fired: RecordedFiring, firing: Packet, kind: int) -> int:
        """The address of what a program of that kind is given."""
        length, device, kind_of, is_tagged, tag, protocol = _passing(fired)
        kept = fired.packet or KeptPacket(b"", 0)
        data = kept.data
        if kind == programs.XDP:
            if is_tagged and len(data) >= _ADDRESSES:
                wire = protocol.to_bytes(2, "little") + struct.pack(">H", tag)
                data, length = data[:_ADDRESSES] + wire + data[_ADDRESSES:], length + len(wire)
            packet = FiledPacket(0, fired.time, memoryview(data), length)
            return self._xdp.fill(self._environment, packet, device, False)
        values = {"ifindex": device, "pkt_type": kind_of}
        if not firing.is_egress:
            values["ingress_ifindex"] = device
        if is_tagged:
            values |= {"vlan_present": 1, "vlan_tci": tag, "vlan_proto": protocol}
        return self._skb.show(self._environment, memoryview(data), length, firing.link, values)


def _passing(fired: RecordedFiring) -> tuple[int, int, int, int, int, int]:
    """Length, device, pkt_type, whether there is a tag, the tag and its protocol as the context has that."""
    words = PASSING.unpack(fired.context[: PASSING.size].ljust(PASSING.size, b"\0"))
    return words[0], words[1], words[2], words[3], words[4] & 0xFFFF, words[5] & 0xFFFF
