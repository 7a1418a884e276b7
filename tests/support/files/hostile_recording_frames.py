"""Lies in recordings: in blocks whose checksums are true, in items, in firings and their pieces."""

import json
import struct
import zlib

from support.files.hostile_parts import any_number, cut, erased, flipped, inserted, shuffled, with_number

RECORDING = b"SONDEREC"

BLOCK, ITEM = struct.Struct("<IIII"), struct.Struct("<II")
DESCRIPTION, HAPPENINGS, SUMMARY, RINGS = 1, 2, 3, 4
FIELDS = 0, 4, 8, 12, 16, 24, 32, 36, 40, 44, 64, 72, 76, 80
"""Offsets in a firing: place, CPU, flags, time, thread ..."""
ODD = (
    None, True, -1, 0, 1, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 10**40, 1e308, float("nan"), float("inf"), "", "\0",
    "x" * 9999, "\ud800", "%s%n", "../../../etc/passwd", "/dev/zero", "/proc/self/mem", [], {}, [[]] * 99, {"": {}},
)  # fmt: skip


def blocks_of(data):
    """(kind, content), the rest as it is under None."""
    found, at = [], len(RECORDING)
    while len(data) - at >= BLOCK.size:
        kind, stored, _, _ = BLOCK.unpack_from(data, at)
        try:
            found.append((kind, zlib.decompress(data[at + BLOCK.size : at + BLOCK.size + stored])))
        except zlib.error:
            break
        at += BLOCK.size + stored
    return [*found, (None, data[at:])] if at < len(data) else found


def block(kind, content):
    if kind is None:
        return content
    packed = zlib.compress(content, 1)
    return BLOCK.pack(kind & 0xFFFFFFFF, len(packed), len(content), zlib.crc32(packed)) + packed


def value_changed(draw, value):
    """One value somewhere in what JSON tells."""
    if draw.random() < 0.2 or not isinstance(value, (list, dict)) or not value:
        if isinstance(value, int) and draw.random() < 0.5:
            return value + draw.choice((-1, 1, 1000, 1 << 32))
        return draw.choice(ODD)
    if isinstance(value, dict):
        key = draw.choice(list(value))
        if draw.random() < 0.1:
            return {name: each for name, each in value.items() if name != key}
        return value | {key: value_changed(draw, value[key])}
    at = draw.randrange(len(value))
    if draw.random() < 0.1:
        return value[:at] + value[at + 1 :]
    if draw.random() < 0.1:
        return value[:at] + value[at : at + 1] * draw.choice((2, 50)) + value[at + 1 :]
    return [*value[:at], value_changed(draw, value[at]), *value[at + 1 :]]


def json_changed(draw, content):
    if draw.random() < 0.1:
        return draw.choice((cut, flipped))(draw, content)
    try:
        value = json.loads(content)
    except ValueError:
        return flipped(draw, content)
    for _ in range(draw.choice((1, 1, 1, 5))):
        value = value_changed(draw, value)
    return json.dumps(value).encode()


def items_of(data):
    found, at = [], 0
    while len(data) - at >= ITEM.size:
        _, size = ITEM.unpack_from(data, at)
        end = at + ITEM.size + size + -size % 8
        found.append(data[at:end])
        at = end
    return found


def pieces_changed(draw, firing):
    """A firing with a lie about one of its pieces: how large, of which kind, where."""
    context, registers = struct.unpack_from("<II", firing, 72) if len(firing) >= 80 else (0, 0)
    at, found = 88 + context + registers, []
    while len(firing) - at >= 16:
        (size,) = struct.unpack_from("<i", firing, at + 12)
        found.append(at)
        at += 16 + max(size, 0) + -max(size, 0) % 8
    if not found:
        return any_number(draw, firing)
    at = draw.choice(found)
    place, width = draw.choice(((0, 8), (8, 4), (12, 4), (12, 4), (16, 8)))
    if draw.random() < 0.3:
        return firing[: at + 8] + draw.randrange(9).to_bytes(4, "little") + firing[at + 12 :]
    return with_number(draw, firing, at + place, width)


def firing_changed(draw, firing):
    kind = draw.random()
    if kind < 0.5:
        at = draw.choice(FIELDS)
        return with_number(draw, firing, at, 8 if at in (16, 24, 64, 80) else 4)
    return draw.choice((pieces_changed, pieces_changed, any_number, cut, erased))(draw, firing)


def item_changed(draw, item):
    kind, size = ITEM.unpack_from(item)
    content = item[ITEM.size : ITEM.size + size]
    way = draw.random()
    if way < 0.1:
        return with_number(draw, item, draw.choice((0, 4)), 4)
    if way < 0.2:
        kind = draw.randrange(5)
    content = firing_changed(draw, content) if kind == 1 else json_changed(draw, content)
    return ITEM.pack(kind, len(content)) + content + bytes(-len(content) % 8)


def block_changed(draw, told):
    kind, content = told
    if kind is None:
        return told
    if draw.random() < 0.05:
        return draw.randrange(6), content
    if kind in (DESCRIPTION, SUMMARY):
        return kind, json_changed(draw, content)
    if kind == HAPPENINGS and draw.random() < 0.9:
        for _ in range(draw.choice((1, 5))):
            content = b"".join(shuffled(draw, items_of(content), item_changed))
        return kind, content
    if kind == RINGS and draw.random() < 0.9:
        # A record's head is its length and a word of the kernel's, as an item's is.
        at, found = 0, []
        while len(content) - at >= 8:
            found.append(at)
            size = int.from_bytes(content[at : at + 4], "little") & 0x3FFFFFFF
            at += 8 + size + -size % 8
        at = draw.choice(found) if found else 0
        if draw.random() < 0.3:
            return kind, with_number(draw, content, at, 4)
        size = int.from_bytes(content[at : at + 4], "little") & 0x3FFFFFFF
        firing = firing_changed(draw, content[at + 8 : at + 8 + size])[:size].ljust(size, b"\0")
        return kind, content[: at + 8] + firing + content[at + 8 + size :]
    return kind, draw.choice((any_number, cut, flipped, erased, inserted))(draw, content)


def recording_changed(draw, data):
    blocks = blocks_of(data)
    if draw.random() < 0.1:
        # A lie in a head.
        whole = [block(*each) for each in blocks]
        at = draw.randrange(len(whole))
        whole[at] = with_number(draw, whole[at], draw.choice((0, 4, 8, 12)), 4)
        return RECORDING + b"".join(whole)
    first, rest = blocks[:1], blocks[1:]
    if draw.random() < 0.35 or not rest:
        first = [block_changed(draw, each) for each in first]
    else:
        rest = shuffled(draw, rest, block_changed)
    return RECORDING + b"".join(block(*each) for each in (*first, *rest))
