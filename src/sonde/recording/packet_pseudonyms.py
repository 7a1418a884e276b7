"""Packets of recordings with pseudonyms for the addresses in their headers, and checksums that fit as they did before.

Replaced are the addresses of Ethernet, ARP, IPv4, IPv6 and of neighbours (RFC 4861), also in the headers that an error
of ICMP quotes. A checksum would tell what was replaced: it is changed by the difference (RFC 1624), so that it is right
or wrong as it was.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from sonde.model.probe import ETHERNET, RAW_IP

_HEADER, _TYPE = 14, 12
_TAGS = (0x8100, 0x88A8)
_IPV4, _ARP, _IPV6 = 0x0800, 0x0806, 0x86DD
_LENGTHS = range(0x600)
"""Numbers in the place of an Ethernet type that are none."""

_ICMP, _TCP, _UDP, _ICMP6, _UDPLITE = 1, 6, 17, 58, 136
_LONG = {0, 43, 60}
"""IPv6 extension headers of 8 bytes and more; an authentication header counts otherwise, a fragment's has 8."""
_FRAGMENT, _AUTHENTICATION = 44, 51
_EXTENSIONS = 16

_CHECKSUMS = {_ICMP: 2, _TCP: 16, _UDP: 6, _ICMP6: 2, _UDPLITE: 6}
"""Where a header above IP has its checksum."""
_ERRORS, _ERRORS6 = (3, 4, 5, 11, 12), (1, 2, 3, 4)
"""Types of ICMP that quote a packet, behind 8 bytes."""
_SOLICITATION, _ADVERTISEMENT, _REDIRECT = 135, 136, 137
_LINK_OPTIONS = (1, 2)
_ALL = b"\xff"

Replace = Callable[[bytes], bytes]


class PacketPseudonyms:
    """`host` gives another address for the bytes of one of IP, `text` other text for that of a payload."""

    def __init__(self, host: Replace, text: Replace) -> None:
        self._host, self._text = host, text
        self._devices: dict[bytes, bytes] = {}

    def changed(self, data: bytes, link: str) -> bytes | None:
        """The packet with other addresses; None where it is of a kind whose addresses cannot be found."""
        packet = bytearray(data)
        if link == RAW_IP:
            self._ip(packet, 0, packet[0] >> 4 if packet else 0)
        elif link == ETHERNET:
            self._ethernet(packet)
        else:
            return None
        return bytes(packet)

    def guessed(self, data: bytes) -> bytes | None:
        """The same for what begins as nobody has said: IP, or Ethernet with IP or ARP in it; None for all else."""
        kind, _ = _type_of(data)
        if kind in (_IPV4, _ARP, _IPV6):
            return self.changed(data, ETHERNET)
        return self.changed(data, RAW_IP) if data[:1] and data[0] >> 4 in (4, 6) else None

    def device(self, address: bytes) -> bytes:
        """Another link address; whether it is of a group, and that of all, stay."""
        if not any(address) or address == _ALL * len(address):
            return address
        known = self._devices.get(address)
        if known is None:
            number = (len(self._devices) + 1).to_bytes(len(address), "big")
            known = self._devices[address] = bytes((number[0] & 0xFC | 2 | address[0] & 1,)) + number[1:]
        return known

    def _address(self, packet: bytearray, at: int, size: int, other: Replace) -> None:
        """One that is there in part only is not kept."""
        if at + size <= len(packet):
            packet[at : at + size] = other(bytes(packet[at : at + size]))
        else:
            packet[at:] = bytes(max(len(packet) - at, 0))

    def _ethernet(self, packet: bytearray) -> None:
        for at in (0, 6):
            self._address(packet, at, 6, self.device)
        kind, at = _type_of(packet)
        if kind == _ARP:
            self._arp(packet, at)
        elif kind in (_IPV4, _IPV6):
            self._ip(packet, at, 4 if kind == _IPV4 else 6)

    def _arp(self, packet: bytearray, at: int) -> None:
        """Sender and target: addresses of the link, of 6 bytes, and of IPv4."""
        for start in (at + 8, at + 18):
            self._address(packet, start, 6, self.device)
            self._address(packet, start + 6, 4, self._host)

    def _ip(self, packet: bytearray, at: int, version: int, is_quoted: bool = False) -> None:
        before = bytes(packet)
        if version == 4:
            first, size, checksum = at + 12, 4, at + 10
            protocol, above = _above4(before, at)
        elif version == 6:
            first, size, checksum = at + 8, 16, 0
            protocol, above = _above6(before, at)
        else:
            return
        for start in (first, first + size):
            self._address(packet, start, size, self._host)
        if checksum:
            _mend(packet, checksum, before[first : first + 2 * size], packet[first : first + 2 * size])
        if above and above < len(packet):
            self._transport(packet, before, protocol, above, (first, 2 * size), is_quoted)

    def _transport(
        self, packet: bytearray, before: bytes, protocol: int, at: int, addresses: tuple[int, int], is_quoted: bool
    ) -> None:  # fmt: skip
        """What is above IP; its checksum covers the addresses as well, but that of ICMP."""
        if protocol in (_ICMP, _ICMP6) and not is_quoted:
            self._icmp(packet, at, protocol)
        place = _CHECKSUMS.get(protocol)
        if place is None or at + place + 2 > len(packet):
            return
        if protocol in (_TCP, _UDP, _UDPLITE) and not is_quoted:
            start = min(at + ((packet[at + 12] >> 4) * 4 if protocol == _TCP else 8), len(packet))
            packet[start:] = self._text(bytes(packet[start:]))
        first, size = addresses
        covered = (first, first + size) if protocol != _ICMP else (0, 0)
        old, new = (bytes(each[slice(*covered)]) for each in (before, packet))
        field = packet[at + place : at + place + 2]
        if protocol in (_UDP, _UDPLITE) and not any(field) and size == 8:
            return
        given = int.from_bytes(field, "big")
        for length in (0, len(before) - at):
            # What the device is still to compute begins with the sum of the addresses, the protocol and the length.
            if given == _folded(_sum(old) + protocol + length):
                packet[at + place : at + place + 2] = _folded(_sum(new) + protocol + length).to_bytes(2, "big")
                return
        _mend(packet, at + place, old + before[at:], new + packet[at:])

    def _icmp(self, packet: bytearray, at: int, protocol: int) -> None:
        kind = packet[at]
        if kind in (_ERRORS if protocol == _ICMP else _ERRORS6):
            quoted = at + 8
            if quoted < len(packet):
                self._ip(packet, quoted, packet[quoted] >> 4, True)
            return
        if protocol == _ICMP6 and kind in (_SOLICITATION, _ADVERTISEMENT, _REDIRECT):
            self._address(packet, at + 8, 16, self._host)
            option = at + 24
            if kind == _REDIRECT:
                self._address(packet, option, 16, self._host)
                option += 16
            while option + 8 <= len(packet) and packet[option + 1]:
                if packet[option] in _LINK_OPTIONS:
                    self._address(packet, option + 2, 6, self.device)
                option += 8 * packet[option + 1]


def _type_of(data: bytes | bytearray) -> tuple[int, int]:
    """The Ethernet type behind tags, and where that ends; 0 where there is none."""
    at = _TYPE
    while at + 2 <= len(data):
        (kind,) = struct.unpack_from(">H", data, at)
        if kind not in _TAGS:
            return (0 if kind in _LENGTHS else kind), at + 2
        at += 4
    return 0, len(data)


def _above4(data: bytes, at: int) -> tuple[int, int]:
    """The protocol above, and where its header is; 0 where it is not in the packet."""
    if at + 20 > len(data):
        return 0, 0
    size = (data[at] & 15) * 4
    is_first = not struct.unpack_from(">H", data, at + 6)[0] & 0x1FFF
    return data[at + 9], at + size if is_first and size >= 20 else 0


def _above6(data: bytes, at: int) -> tuple[int, int]:
    if at + 40 > len(data):
        return 0, 0
    protocol, at = data[at + 6], at + 40
    for _ in range(_EXTENSIONS):
        if at + 8 > len(data):
            return 0, 0
        if protocol in _LONG:
            protocol, at = data[at], at + 8 * (data[at + 1] + 1)
        elif protocol == _AUTHENTICATION:
            protocol, at = data[at], at + 4 * (data[at + 1] + 2)
        elif protocol == _FRAGMENT:
            if struct.unpack_from(">H", data, at + 2)[0] & 0xFFF8:
                return 0, 0
            protocol, at = data[at], at + 8
        else:
            return protocol, at
    return 0, 0


def _sum(data: bytes | bytearray) -> int:
    padded = bytes(data) + bytes(len(data) & 1)
    return sum(struct.unpack(f">{len(padded) // 2}H", padded))


def _folded(number: int) -> int:
    while number >> 16:
        number = (number & 0xFFFF) + (number >> 16)
    return number


def _mend(packet: bytearray, at: int, old: bytes | bytearray, new: bytes | bytearray) -> None:
    """Change a checksum by the difference of what it covers."""
    if at + 2 > len(packet):
        return
    (given,) = struct.unpack_from(">H", packet, at)
    difference = _folded(_sum(new)) + (~_folded(_sum(old)) & 0xFFFF)
    struct.pack_into(">H", packet, at, ~_folded((~given & 0xFFFF) + difference) & 0xFFFF)
