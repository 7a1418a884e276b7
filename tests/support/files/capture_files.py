"""Capture files written for tests, in either byte order: pcapng block by block, and pcap."""

import struct

ETHERNET, RAW_IP = 1, 101
SECTION, INTERFACE, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 3, 6


class Pcapng:
    """Bytes of a section; `order` is `<` or `>`."""

    def __init__(self, order="<", application=""):
        self.order = order
        body = struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1)
        self.data = self.block(SECTION, body + self.options((4, application.encode())) * bool(application))

    def block(self, kind, body):
        size = len(body) + 12
        return struct.pack(f"{self.order}II", kind, size) + body + struct.pack(f"{self.order}I", size)

    def options(self, *values):
        parts = [struct.pack(f"{self.order}HH", code, len(value)) + padded(value) for code, value in values]
        return b"".join(parts) + bytes(4)

    def interface(self, name, link=ETHERNET, longest=0, resolution=None, offset=None):
        values = [(2, name.encode())] * bool(name)
        values += [] if resolution is None else [(9, bytes([resolution]))]
        values += [] if offset is None else [(14, struct.pack(f"{self.order}q", offset))]
        body = struct.pack(f"{self.order}HHI", link, 0, longest)
        self.data += self.block(INTERFACE, body + (self.options(*values) if values else b""))
        return self

    def packet(self, data, interface=0, time=0, length=None, flags=None):
        length = len(data) if length is None else length
        head = struct.pack(f"{self.order}5I", interface, time >> 32, time & 0xFFFFFFFF, len(data), length)
        told = b"" if flags is None else self.options((2, struct.pack(f"{self.order}I", flags)))
        self.data += self.block(ENHANCED, head + padded(data) + told)
        return self

    def simple(self, data, length=None):
        body = struct.pack(f"{self.order}I", len(data) if length is None else length)
        self.data += self.block(SIMPLE, body + padded(data))
        return self

    def other(self, kind=0x0BAD):
        self.data += self.block(kind, b"nobody's")
        return self


def padded(data):
    return data + bytes(-len(data) & 3)


def pcap(packets, order="<", magic=0xA1B2C3D4, link=ETHERNET):
    """A pcap file of (seconds, part of one, data, length)."""
    head = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    return head + b"".join(
        struct.pack(f"{order}IIII", seconds, part, len(data), length) + data for seconds, part, data, length in packets
    )
