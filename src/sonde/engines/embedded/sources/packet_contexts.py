"""The contexts of programs for packets, filled as the kernel would have them of a packet that a file has.

A packet is in pieces, as drivers and the network stack make them: a head that programs access directly, pages, and a
list of further packets where there are more pages than one takes; in XDP a buffer and fragments. Only the head is
copied, since programs may write to it. All else stays where the file was read to.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sonde.bpf import programs
from sonde.formats.captured_file import LARGEST_PACKET, FiledPacket
from sonde.model.firing_record import PASSING
from sonde.model.probe import COOKED, COOKED_2, ETHERNET, LOOPBACK, RAW_IP
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.perf.packet_pieces import SkbPacket, XdpPacket
from sonde.runtime.verifier.contexts import CONTEXTS, ContextTable

HEAD = 128
"""Bytes of a packet that are copied to where programs access them: GOOD_COPY_LEN of drivers/net/virtio_net.c."""

PIECE = 2048
"""Bytes of a piece: half a page of memory, as drivers receive into."""

MOST_PIECES = 17
"""MAX_SKB_FRAGS (include/linux/skbuff.h)."""

_TYPE, _HEADER, _TAG = 12, 14, 4
"""Where an Ethernet header has its type, how long it is, and how long a VLAN's tag."""
_TAGS = (0x8100, 0x88A8)
_LEAST_TYPE, _RAW_802_3 = 0x600, 0xFFFF
_ETH_P_802_3, _ETH_P_802_2 = 1, 4
_IP = {4: 0x0800, 6: 0x86DD}

_HOST, _BROADCAST, _MULTICAST, _OTHER, _OUTGOING = range(5)
"""PACKET_HOST and so on (include/uapi/linux/if_packet.h)."""
_RECEPTION = {1: _HOST, 2: _MULTICAST, 3: _BROADCAST, 4: _OTHER}
"""By bits 2 to 4 of a packet's flags in a file."""


class _Fields:
    """Writes the fields of a structure by their names, zeros where there is none."""

    def __init__(self, table: ContextTable) -> None:
        fields = sorted(table.fields, key=lambda field: field.at)
        form, end = "=", 0
        for field in fields:
            width = field.width or field.size
            code = {1: "B", 2: "H", 4: "I", 8: "Q"}.get(width)
            form += f"{field.at - end}x" + (code or f"{width}x")
            end = field.at + width
        self._names = [field.name for field in fields if (field.width or field.size) in (1, 2, 4, 8)]
        self._pack = struct.Struct(f"{form}{table.size - end}x").pack_into
        self.size = table.size

    def write(self, buffer: bytearray, values: Mapping[str, int]) -> None:
        get = values.get
        self._pack(buffer, 0, *[get(name, 0) for name in self._names])


def skb_pieces(head: memoryview, rest: memoryview) -> SkbPacket:
    """A packet whose head is there already."""
    pages, further = rest[: MOST_PIECES * PIECE], rest[MOST_PIECES * PIECE :]
    fragments = (skb_pieces(further[:0], further),) if further else ()
    return SkbPacket(head, _cut(pages), fragments)


def pieces(data: memoryview) -> SkbPacket:
    """A packet none of which is accessed directly."""
    return skb_pieces(data[:0], data)


def _cut(data: memoryview) -> tuple[memoryview, ...]:
    return tuple(data[at : at + PIECE] for at in range(0, len(data), PIECE))


class SkbContext:
    """struct __sk_buff, for tcx and for filters of sockets."""

    def __init__(self, memory: MachineMemory) -> None:
        self._fields = _Fields(CONTEXTS[programs.SCHED_CLS])
        self._bytes = bytearray(self._fields.size)
        self._head = bytearray(HEAD)
        self._address = memory.add(self._bytes)
        self._data = memory.add(self._head)
        self._values: dict[str, int] = {}

    def fill(
        self, environment: Environment, packet: FiledPacket, device: int, link: str, is_egress: bool, untags: bool
    ) -> int:
        """Make the packet the environment's; the address of its context. `untags`: the outermost tag is told apart from
        the bytes, as when a packet arrives (skb_vlan_untag); a packet without a type behind that is dropped there: 0.
        """
        data, length = packet.data, packet.length
        values = {"ifindex": device, "protocol": _protocol(data, link)}
        if untags and link == ETHERNET and values["protocol"] in _TAGS:
            if length < _HEADER + _TAG + 2:
                return 0
            values |= {
                "vlan_present": 1,
                "vlan_tci": _number(data, _HEADER),
                "vlan_proto": _swapped(values["protocol"]),
            }
            data = memoryview(bytes(data[:_TYPE]) + bytes(data[_TYPE + _TAG :]))
            length -= _TAG
        if not is_egress:
            values["ingress_ifindex"] = device
            values["pkt_type"] = _kind(packet, link)
        return self.show(environment, data, length, link, values)

    def show(
        self, environment: Environment, data: memoryview, length: int, link: str, values: Mapping[str, int]
    ) -> int:  # fmt: skip
        """Make a packet of `length` bytes, of which there are these, the environment's; the address of its context,
        which has these values besides."""
        size = min(HEAD, len(data))
        self._head[:size] = data[:size]
        self._values = {
            **values, "protocol": _swapped(_protocol(data, link)), "len": len(data), "wire_len": length,
            "data": self._data, "data_end": self._data + size, "data_meta": self._data,
        }  # fmt: skip
        self._fields.write(self._bytes, self._values)
        environment.packet = skb_pieces(memoryview(self._head)[:size], data[size:])
        environment.packet_length = length
        return self._address

    def passing(self, environment: Environment) -> bytes:
        """What the context tells of the packet, as recordings have it."""
        get = self._values.get
        told = (get(name, 0) for name in ("ifindex", "pkt_type", "vlan_present", "vlan_tci", "vlan_proto"))
        return PASSING.pack(environment.packet_length, *told, 0, 0)

    def set_outgoing(self) -> None:
        """To sockets a packet that leaves is marked so (dev_queue_xmit_nit)."""
        self._fields.write(self._bytes, {**self._values, "pkt_type": _OUTGOING})


class XdpContext:
    """struct xdp_md."""

    def __init__(self, memory: MachineMemory) -> None:
        self._fields = _Fields(CONTEXTS[programs.XDP])
        self._bytes = bytearray(self._fields.size)
        self._buffer = bytearray(LARGEST_PACKET)
        self._address = memory.add(self._bytes)
        self._data = memory.add(self._buffer)
        self._device = 0

    def passing(self, environment: Environment) -> bytes:
        """As that of `SkbContext`."""
        return PASSING.pack(environment.packet_length, self._device, 0, 0, 0, 0, 0, 0)

    def fill(self, environment: Environment, packet: FiledPacket, device: int, is_linear: bool) -> int:
        """Make the packet the environment's, in one piece if the program takes no others; the address of its
        context."""
        self._device = device
        size = len(packet.data) if is_linear else min(PIECE, len(packet.data))
        self._buffer[:size] = packet.data[:size]
        values = {"data": self._data, "data_end": self._data + size, "data_meta": self._data}
        self._fields.write(self._bytes, {**values, "ingress_ifindex": device})
        environment.packet = XdpPacket(memoryview(self._buffer)[:size], _cut(packet.data[size:]))
        environment.packet_length = packet.length
        return self._address


def _number(data: memoryview, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _swapped(number: int) -> int:
    """In network byte order."""
    return int.from_bytes(number.to_bytes(2, "big"), "little")


_COOKED_TYPE = {COOKED: 14, COOKED_2: 0}
_FAMILY = 4
"""Bytes before IP on a loopback device of BSD."""


def _protocol(data: memoryview, link: str) -> int:
    """As eth_type_trans has it, or the first bits of IP's header."""
    if link == RAW_IP:
        return _IP.get(data[0] >> 4, 0) if data else 0
    if link in _COOKED_TYPE:
        return _number(data, _COOKED_TYPE[link])
    if link == LOOPBACK:
        return _protocol(data[_FAMILY:], RAW_IP)
    if link != ETHERNET or len(data) < _HEADER:
        return 0
    found = _number(data, _TYPE)
    if found >= _LEAST_TYPE:
        return found
    return _ETH_P_802_3 if _number(data, _HEADER) == _RAW_802_3 else _ETH_P_802_2


def _kind(packet: FiledPacket, link: str) -> int:
    """pkt_type of a packet that arrives: as the file says, or its address; this machine's own are not known."""
    told = packet.flags >> 2 & 7
    if told in _RECEPTION:
        return _RECEPTION[told]
    if link != ETHERNET or not packet.data or not packet.data[0] & 1:
        return _HOST
    return _BROADCAST if packet.data[:6] == b"\xff" * 6 else _MULTICAST
