"""Lies in pcapng and pcap files: in blocks, options, interfaces, byte orders and packets."""

import struct

from support.files.hostile_parts import (
    any_number,
    anywhere,
    cut,
    erased,
    flipped,
    inserted,
    number,
    removed,
    shuffled,
    with_number,
)

PCAPNG = b"\x0a\x0d\x0d\x0a"
PCAP = tuple(struct.pack(order + "I", magic) for order in "<>" for magic in (0xA1B2C3D4, 0xA1B23C4D))

LINKS = (0, 1, 9, 12, 101, 105, 108, 109, 113, 127, 147, 192, 220, 228, 229, 253, 276, 65535)
OPTIONS = (0, 1, 2, 3, 4, 5, 8, 9, 11, 14, 2988, 65535)


def ng_block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def ng_blocks(data, order):
    found, at = [], 0
    while len(data) - at >= 12:
        (size,) = struct.unpack_from(order + "I", data, at + 4)
        if size < 12:
            break
        found.append(data[at : at + size])
        at += size
    return found


def ng_options(draw, order):
    parts = []
    for _ in range(draw.randrange(4)):
        size = draw.choice((0, 1, 3, 4, 8, 20))
        told = size if draw.random() < 0.9 else draw.randrange(65536)
        value = draw.choice((draw.randbytes(size), b"\xff" * size, bytes(size), b"\x7f" * size))
        parts.append(struct.pack(order + "HH", draw.choice(OPTIONS), told) + value + bytes(-size % 4))
    return b"".join(parts)


def ng_made(draw, order):
    """An interface of an odd link type, clock or offset; packets of it; names, statistics and unknown blocks."""
    kind = draw.randrange(6)
    if kind == 0:
        clock = draw.choice((b"\x09", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xbf", b"\x13"))
        offset = number(draw, 8)
        named = struct.pack(order + "HH", 9, 1) + clock + bytes(3) + struct.pack(order + "HH", 14, 8) + offset
        head = struct.pack(order + "HHI", draw.choice(LINKS), 0, draw.choice((0, 1, 60, 65535, 0xFFFFFFFF)))
        return ng_block(1, head + named + ng_options(draw, order), order) * draw.choice((1, 1, 5000))
    if kind == 1:
        size = draw.randrange(200)
        told = size if draw.random() < 0.7 else draw.choice((0, size - 1 & 0xFFFFFFFF, size + 99, 0xFFFFFFFF))
        high, low = draw.choice((0, 1 << 31, 0xFFFFFFFF)), draw.getrandbits(32)
        which = draw.choice((0, 0, 1, 2, 4095, 0xFFFFFFFF))
        head = struct.pack(order + "5I", which, high, low, told, draw.getrandbits(16))
        return ng_block(6, head + draw.randbytes(size) + bytes(-size % 4) + ng_options(draw, order), order)
    if kind == 2:
        return ng_block(
            3, struct.pack(order + "I", draw.choice((0, 20, 70000, 0xFFFFFFFF))) + draw.randbytes(40), order
        )
    if kind == 3:
        head = struct.pack(order + "HHII", draw.randrange(3), draw.randrange(9), 0, 5)
        return ng_block(
            2, head + struct.pack(order + "II", 40, 40) + draw.randbytes(40) + ng_options(draw, order), order
        )
    if kind == 4:
        return ng_block(draw.choice((4, 5, 7, 10, 0xBAD, 0x40000BAD, 0x80000001)), draw.randbytes(40), order)
    other = draw.choice("<>")
    head = struct.pack(other + "IHHq", 0x1A2B3C4D, draw.choice((1, 0, 2)), 0, draw.choice((-1, 0, 20, 1 << 40)))
    return ng_block(0x0A0D0D0A, head + ng_options(draw, other), other)


def ng_block_changed(draw, one):
    if draw.random() < 0.3:
        return with_number(draw, one, 8 + anywhere(draw, one[8:], 4), draw.choice((1, 2, 4)))
    if draw.random() < 0.4:
        return with_number(draw, one, draw.choice((0, 4, max(len(one) - 4, 0))), 4)
    body = draw.choice((flipped, cut, erased, inserted, removed))(draw, one[8:-4])
    return ng_block(int.from_bytes(one[:4], "little"), body)


def pcapng_changed(draw, data):
    order = ">" if data[8:12] == b"\x1a\x2b\x3c\x4d" else "<"
    blocks = ng_blocks(data, order)
    for _ in range(draw.choice((1, 1, 4))):
        if draw.random() < 0.6:
            blocks = shuffled(draw, blocks, ng_block_changed)
        else:
            blocks.insert(draw.randrange(len(blocks) + 1), ng_made(draw, order))
    return b"".join(blocks)


def pcap_changed(draw, data):
    kind = draw.random()
    if kind < 0.3:
        return data[:20] + draw.choice(LINKS).to_bytes(4, "little") + data[24:]
    if kind < 0.45:
        magic = draw.choice((*PCAP, bytes.fromhex("34cdb2a1"), bytes.fromhex("a1e2cb12")))
        return magic + data[4:]
    if kind < 0.6:
        return with_number(draw, data, draw.choice((4, 6, 8, 12, 16, 20)), 4)
    found, at = [], 24
    while len(data) - at >= 16:
        size = int.from_bytes(data[at + 8 : at + 12], "little")
        found.append(data[at : at + 16 + size])
        at += 16 + size
    return data[:24] + b"".join(shuffled(draw, found, packet_changed))


def packet_changed(draw, one):
    if draw.random() < 0.4:
        return with_number(draw, one, draw.choice((0, 4, 8, 12)), 4)
    body = draw.choice((flipped, cut, any_number, erased, any_number))(draw, one[16:])
    return one[:8] + len(body).to_bytes(4, "little") + one[12:16] + body
