"""Frames of Ethernet made by hand, and what is in them by a reading of our own."""

import ipaddress
import struct

MACS = bytes.fromhex("0200000000aa0200000000bb")
SOURCE4, TARGET4 = (ipaddress.ip_address(text).packed for text in ("192.0.2.7", "198.51.100.9"))
SOURCE6, TARGET6 = (ipaddress.ip_address(text).packed for text in ("2001:db8::7", "2001:db8:1::9"))

UDP = struct.pack(">HHHH", 4000, 53, 28, 0xBEEF) + b"d" * 20
TCP = struct.pack(">HHIIBBHHH", 50000, 443, 0x89ABCDEF, 0xFEDCBA98, 0x80, 0x12, 64000, 0xC0DE, 17)
TCP += bytes(12) + b"t" * 30
ICMP = struct.pack(">BBHHH", 8, 3, 0xABCD, 77, 1025) + b"i" * 12


def ethernet(kind, payload, *tags):
    words = b"".join(struct.pack(">HH", *tag) for tag in tags)
    return MACS + words + struct.pack(">H", kind) + payload


def ipv4(protocol, payload, options=b"", fragment=0x4000):
    size = 20 + len(options)
    head = struct.pack(">BBHHHBBH", 0x40 | size // 4, 0x2E, size + len(payload), 0x1234, fragment, 61, protocol, 0xCAFE)
    return head + SOURCE4 + TARGET4 + options + payload


def ipv6(first, payload):
    return struct.pack(">IHBB", 0x6AB12345, len(payload), first, 63) + SOURCE6 + TARGET6 + payload


def extension(following, units=0):
    return struct.pack(">BB", following, units) + bytes(6 + 8 * units)


def fragment(following, offset):
    return struct.pack(">BBHI", following, 0, offset, 99)


FRAMES = {
    "udp": ethernet(0x800, ipv4(17, UDP)),
    "tcp": ethernet(0x800, ipv4(6, TCP, bytes(8))),
    "icmp": ethernet(0x800, ipv4(1, ICMP)),
    "another fragment": ethernet(0x800, ipv4(17, UDP, fragment=0x2005)),
    "udp6": ethernet(0x86DD, ipv6(17, UDP)),
    "tcp6 behind extensions": ethernet(0x86DD, ipv6(0, extension(60, 1) + extension(43) + extension(6) + TCP)),
    "icmp6": ethernet(0x86DD, ipv6(58, ICMP)),
    "first fragment of udp6": ethernet(0x86DD, ipv6(44, fragment(17, 1) + UDP)),
    "another of udp6": ethernet(0x86DD, ipv6(44, fragment(17, 0x1400) + UDP)),
    "behind authentication": ethernet(0x86DD, ipv6(51, struct.pack(">BB", 17, 4) + bytes(22) + UDP)),
    "in a vlan": ethernet(0x800, ipv4(17, UDP), (0x8100, 0x6123)),
    "in two": ethernet(0x86DD, ipv6(6, TCP), (0x88A8, 0x0456), (0x8100, 0x0789)),
    "arp": ethernet(0x806, bytes(28)),
    "no header": ethernet(0x800, b"\x43" + ipv4(6, TCP)[1:]),
}

NUMBERS = (
    "len", "eth_type", "vlan_id", "ip_ver", "ip_protocol", "ip_plength", "hdr_len",
    "ipv4_ihl", "ipv4_tos", "ipv4_length", "ipv4_ident", "ipv4_flags", "ipv4_offset", "ipv4_ttl", "ipv4_protocol",
    "ipv4_checksum", "ipv6_tclass", "ipv6_flow", "ipv6_plen", "ipv6_nexthdr", "ipv6_hlim",
    "tcp_sport", "tcp_dport", "tcp_seq", "tcp_ack", "tcp_offset", "tcp_flags", "tcp_window", "tcp_checksum",
    "tcp_urgent", "udp_sport", "udp_dport", "udp_length", "udp_checksum",
    "icmp_type", "icmp_code", "icmp_checksum", "icmp_ident", "icmp_seq",
)  # fmt: skip
TEXTS = ("eth_src", "eth_dst", "ip_saddr", "ip_daddr", "ipv4_saddr", "ipv4_daddr", "ipv6_saddr", "ipv6_daddr")


class Reading(dict):
    """The fields of a frame, those that it does not have being 0."""

    def __init__(self, frame):
        super().__init__(dict.fromkeys(NUMBERS, 0))
        self._frame = frame
        self["len"] = len(frame)
        self["eth_type"], at = self._number(12, 2), 14
        if self["eth_type"] in (0x8100, 0x88A8):
            self["vlan_id"] = self._number(14, 2) & 0xFFF
        while self["eth_type"] in (0x8100, 0x88A8):
            self["eth_type"], at = self._number(at + 2, 2), at + 4
        self._texts(at)
        transport = {0x800: self._version4, 0x86DD: self._version6}.get(self["eth_type"], lambda _: 0)(at)
        ends = {0x800: at + self["ipv4_ihl"], 0x86DD: at + 40}
        end = self._transport(transport) if transport else ends.get(self["eth_type"], at)
        self["hdr_len"] = min(end, len(frame))

    def _bytes(self, at, size):
        found = self._frame[at : at + size]
        return found if len(found) == size else bytes(size)

    def _number(self, at, size):
        return int.from_bytes(self._bytes(at, size), "big")

    def _texts(self, at):
        four, six = (self["eth_type"] == kind for kind in (0x800, 0x86DD))
        for name, where in (("src", 6), ("dst", 0)):
            self[f"eth_{name}"] = self._bytes(where, 6).hex(":")
        for name, at4, at6 in (("saddr", 12, 8), ("daddr", 16, 24)):
            shown4 = str(ipaddress.IPv4Address(self._bytes(at + at4, 4))) if four else "<null>"
            shown6 = str(ipaddress.IPv6Address(self._bytes(at + at6, 16))) if six else "<null>"
            self[f"ipv4_{name}"], self[f"ipv6_{name}"] = shown4, shown6
            self[f"ip_{name}"] = shown4 if four else shown6 if six else "<unknown>"

    def _version4(self, at):
        """Where the transport header is, 0 if there is none."""
        self["ip_ver"] = 4
        self["ipv4_ihl"] = (self._number(at, 1) & 15) * 4
        fragmented = self._number(at + 6, 2)
        self["ipv4_flags"], self["ipv4_offset"] = fragmented >> 13, fragmented & 0x1FFF
        self["ip_protocol"] = self._number(at + 9, 1)
        places = {"tos": (1, 1), "length": (2, 2), "ident": (4, 2), "ttl": (8, 1), "protocol": (9, 1)}
        self._take("ipv4", at, places | {"checksum": (10, 2)})
        self["ip_plength"] = (self["ipv4_length"] - self["ipv4_ihl"]) % 2**32 if self["ipv4_length"] else 0
        return 0 if fragmented & 0x1FFF or self["ipv4_ihl"] < 20 else at + self["ipv4_ihl"]

    def _version6(self, at):
        self["ip_ver"] = 6
        self["ipv6_tclass"] = self._number(at, 2) >> 4 & 0xFF
        self["ipv6_flow"] = self._number(at, 4) & 0xFFFFF
        self._take("ipv6", at, {"plen": (4, 2), "nexthdr": (6, 1), "hlim": (7, 1)})
        self["ip_plength"] = self["ipv6_plen"]
        protocol, at = self["ipv6_nexthdr"], at + 40
        for _ in range(8):
            following = self._number(at, 1)
            if protocol == 44:
                protocol = following
                if self._number(at + 2, 2) & 0xFFF8:
                    break
                at += 8
            elif protocol in (0, 43, 60):
                protocol, at = following, at + (self._number(at + 1, 1) + 1) * 8
            elif protocol == 51:
                protocol, at = following, at + (self._number(at + 1, 1) + 2) * 4
            else:
                self["ip_protocol"] = protocol
                return at
        self["ip_protocol"] = protocol
        return 0

    def _transport(self, at):
        """Where it ends."""
        protocol = self["ip_protocol"]
        if protocol == 6:
            places = {"sport": (0, 2), "dport": (2, 2), "seq": (4, 4), "ack": (8, 4), "flags": (13, 1)}
            self._take("tcp", at, places | {"window": (14, 2), "checksum": (16, 2), "urgent": (18, 2)})
            self["tcp_offset"] = (self._number(at + 12, 1) >> 4) * 4
            return at + self["tcp_offset"]
        if protocol == 17:
            self._take("udp", at, {"sport": (0, 2), "dport": (2, 2), "length": (4, 2), "checksum": (6, 2)})
        elif protocol in (1, 58):
            places = {"type": (0, 1), "code": (1, 1), "checksum": (2, 2), "ident": (4, 2), "seq": (6, 2)}
            self._take("icmp", at, places)
        return at + 8 if protocol in (17, 1, 58) else at

    def _take(self, prefix, at, places):
        for name, (offset, size) in places.items():
            self[f"{prefix}_{name}"] = self._number(at + offset, size)
