"""Small lies in bytes and in lists of parts, which the mutators of replay files share."""

WORDS = (
    *(0, 1, 2, 7, 8, 9, 16, 63, 64, 127, 128, 255, 256, 4095, 4096, 65535, 65536, 1 << 24, 1 << 26),
    *((1 << bits) + more for bits in (31, 32, 62, 63, 64) for more in (-9, -8, -1, 0, 1, 8) if bits < 64 or more < 0),
    10**9, 10**18, (1 << 64) - 128, (1 << 64) - 512, (1 << 64) - 4095,
)  # fmt: skip
"""Numbers at the borders of what fields hold, and those that mean something of their own."""


def number(draw, width, near=0):
    """One of so many bytes, in the order of this machine; at times close to what stands there."""
    value = draw.choice(WORDS) if draw.random() < 0.6 else near + draw.choice((-8, -4, -1, 1, 4, 8, 1 << 16))
    if draw.random() < 0.1:
        value = draw.getrandbits(64)
    return (value & (1 << 8 * width) - 1).to_bytes(width, "little")


def with_number(draw, data, at, width):
    near = int.from_bytes(data[at : at + width], "little")
    return data[:at] + number(draw, width, near) + data[at + width :]


def anywhere(draw, data, step=1):
    return draw.randrange(0, max(len(data), 1), step)


def any_number(draw, data):
    width = draw.choice((1, 2, 4, 4, 8, 8))
    return with_number(draw, data, anywhere(draw, data, min(width, 4)), width)


# Of any file.


def cut(draw, data):
    at = len(data) - draw.randrange(200) if draw.random() < 0.5 else anywhere(draw, data)
    return data[: max(at, 0)]


def flipped(draw, data):
    made = bytearray(data)
    for _ in range(draw.choice((1, 3, 30, 1000))):
        if made:
            made[anywhere(draw, made)] ^= 1 << draw.randrange(8)
    return bytes(made)


def erased(draw, data):
    at, size = anywhere(draw, data), draw.choice((4, 8, 64, 4096))
    filling = draw.choice((b"\0", b"\xff", b"A", b"%"))
    return data[:at] + filling * min(size, len(data) - at) + data[at + size :]


def removed(draw, data):
    at = anywhere(draw, data)
    return data[:at] + data[at + draw.choice((1, 3, 4, 8, 100)) :]


def inserted(draw, data):
    at = anywhere(draw, data)
    return data[:at] + draw.randbytes(draw.choice((1, 4, 8, 100))) + data[at:]


def random_behind_the_beginning(draw, data):
    return data[: draw.choice((4, 8, 24, 104, 200))] + draw.randbytes(draw.choice((0, 16, 1000, 50_000)))


ANY = cut, flipped, erased, removed, inserted, any_number, random_behind_the_beginning


def spliced(draw, data, other):
    """The beginning of one file and the end of another, or one behind the other."""
    if draw.random() < 0.3:
        return data + other
    return data[: anywhere(draw, data)] + other[anywhere(draw, other) :]


# A list of parts: records, blocks, packets.


def shuffled(draw, parts, change):
    """The parts with one of them changed, left out, told again, or in another place."""
    found = list(parts)
    if not found:
        return found
    at = draw.randrange(len(found))
    kind = draw.random()
    if kind < 0.6:
        found[at] = change(draw, found[at])
    elif kind < 0.7:
        del found[at]
    elif kind < 0.8:
        found[at:at] = [found[draw.randrange(len(found))]] * draw.choice((1, 2, 30))
    elif kind < 0.9:
        to = draw.randrange(len(found))
        found[at], found[to] = found[to], found[at]
    else:
        found.reverse()
    return found
