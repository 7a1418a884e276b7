"""Lies in perf.data files: in a header of sections, in events' attributes, in records, and in features."""

import re
import struct

from test_hostile_perf_data import zstd

from support.files.hostile_parts import (
    WORDS,
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

HEADER, BEHIND = 104, (71, 66)
"""Bytes of a file's header; kinds of records that are followed by bytes of theirs."""
TRACING_DATA = 1
RECORD = struct.Struct("=IHH")


def records_of(data):
    """The records, each with what stands behind it; the last one is what makes no sense."""
    found, at = [], 0
    while len(data) - at >= RECORD.size:
        kind, _, size = RECORD.unpack_from(data, at)
        if size < RECORD.size:
            break
        end = at + size
        if kind in BEHIND:
            behind = int.from_bytes(data[at + 8 : at + (16 if kind == 71 else 12)], "little")
            end = min(end + behind, len(data))
        found.append(data[at:end])
        at = end
    return [*found, data[at:]] if at < len(data) else found


def record_changed(draw, record):
    kind = draw.random()
    if kind < 0.15:
        return with_number(draw, record, 6, 2)
    if kind < 0.3:
        known = draw.choice((*range(1, 22), *range(64, 85)))
        return known.to_bytes(4, "little") + record[4:]
    if kind < 0.4:
        return with_number(draw, record, 4, 2)
    if kind < 0.8 and len(record) > 16:
        return with_number(draw, record, 8 + anywhere(draw, record[8:], 4), draw.choice((4, 8)))
    return resized(record[:4], record[4:6], draw.choice((cut, flipped, removed, erased))(draw, record[8:]))


def resized(kind, misc, body):
    """A record of this body, whose size is true."""
    body = body[:65520] + bytes(-len(body[:65520]) % 8)
    return kind + misc + (len(body) + 8).to_bytes(2, "little") + body


def made_record(draw, _):
    """One with lies of its own: of trace data that is large, of what is compressed, of events, lost records, tasks."""
    body = b"".join(number(draw, 8) for _ in range(draw.randrange(9)))
    kind = draw.choice((64, 66, 67, 68, 71, 80, 81, 83, 2, 3, 4, 7, 10, 13, 14, 15, 16, 17, 18, 19, 20, 78))
    return resized(kind.to_bytes(4, "little"), number(draw, 2), body)


def recompressed(draw, records):
    """What is compressed in them, changed and compressed again, now and then so that it lies or is huge."""
    if draw.random() < 0.15:
        inner = draw.choice((b"", b"\0", bytes(RECORD.pack(9, 0, 8)))) * draw.choice((1, 1 << 20, 1 << 24))
    else:
        inner = b"".join(shuffled(draw, records, record_changed))[: 1 << 20]
    packed, made = zstd()(inner), []
    for at in range(0, len(packed), 60_000):
        piece = packed[at : at + 60_000]
        if draw.random() < 0.5:
            made.append(resized(b"\x51\0\0\0", bytes(2), piece)[:6] + (len(piece) + 8).to_bytes(2, "little") + piece)
        else:
            told = len(piece) if draw.random() < 0.8 else draw.choice(WORDS)
            made.append(resized(b"\x53\0\0\0", bytes(2), struct.pack("<Q", told & (1 << 64) - 1) + piece))
    return made


def retimed(draw, records):
    """Eight bytes of each sample that are alike in all of them, as times are: sent back, on, or to the end of time."""
    at = 8 * draw.randrange(1, 6)
    way = draw.choice((0, 1, (1 << 64) - 1, 1 << 63, 10**18, None))
    made = []
    for record in records:
        if record[:4] == b"\x09\0\0\0" and len(record) >= at + 8 and draw.random() < 0.5:
            word = (draw.getrandbits(64) if way is None else way).to_bytes(8, "little")
            record = record[:at] + word + record[at + 8 :]
        made.append(record)
    return made


def data_changed(draw, data):
    records = records_of(data)
    for _ in range(draw.choice((1, 1, 5))):
        kind = draw.random()
        if kind < 0.65:
            records = shuffled(draw, records, record_changed)
        elif kind < 0.75:
            at = draw.randrange(len(records) + 1)
            records[at:at] = [made_record(draw, b"")] * draw.choice((1, 1, 1000))
        elif kind < 0.9:
            records = retimed(draw, records)
        else:
            at = draw.randrange(len(records) + 1)
            records[at : at + 50] = recompressed(draw, records[at : at + 50])
    return b"".join(records)


TYPE, PERIOD, SAMPLE_TYPE, READ_FORMAT, FLAGS = 0, 16, 24, 32, 40
ATTRIBUTES = TYPE, 4, 8, PERIOD, SAMPLE_TYPE, READ_FORMAT, FLAGS, 72, 80, 88


def attributes_changed(draw, entry):
    """A bit of one of an event's words turned, or the word another."""
    at = draw.choice(ATTRIBUTES)
    if draw.random() < 0.3:
        return with_number(draw, entry, at, 8 if at > 7 else 4)
    return entry[: at + 8][:at] + turned(draw, entry[at : at + 8]) + entry[at + 8 :]


def turned(draw, word):
    return (int.from_bytes(word, "little") ^ 1 << draw.randrange(8 * len(word) or 1)).to_bytes(len(word) or 1, "little")


def text_changed(draw, data):
    """Numbers, names and punctuation of format texts."""
    found = list(re.finditer(rb"\d+|\w+|[\[\]();:,<>\n]", data))
    if not found:
        return flipped(draw, data)
    for _ in range(draw.choice((1, 3, 100))):
        match = draw.choice(found)
        new = draw.choice(
            (b"", b"0", b"-1", b"99999999999", b"65535", b"[", b"]" * 9, b"(" * 999, b"__data_loc char[]", b"%s",
             b"\n" * 50, match[0] * 3, b"\xff\xfe", b"\0", b"offset", b"unsigned", b"field:")
        )  # fmt: skip
        data = data[: match.start()] + new + data[match.end() :]
    return data


def feature_changed(draw, feature, content):
    if feature == TRACING_DATA and draw.random() < 0.7:
        return text_changed(draw, content)
    return draw.choice((any_number, any_number, cut, flipped, erased, inserted))(draw, content)


def perf_changed(draw, data):
    if int.from_bytes(data[8:16], "little") == 16:
        records = records_of(data[16:])
        kind, few = draw.random(), min(len(records), 60)
        if kind < 0.5:
            # What stands for the header comes first.
            return data[:16] + b"".join([*shuffled(draw, records[:few], opening_changed), *records[few:]])
        return data[: 16 if kind < 0.95 else 8] + data_changed(draw, data[16:])
    if len(data) < HEADER:
        return flipped(draw, data)
    entry, events_at, events_size, start, size = struct.unpack_from("<5Q", data, 16)
    kind = draw.random()
    if kind < 0.15:
        return with_number(draw, data, draw.randrange(8, HEADER, 8), 8)
    if kind < 0.4 and entry and events_size >= entry:
        at = events_at + entry * draw.randrange(events_size // entry)
        if draw.random() < 0.2:
            return with_number(draw, data, at + entry - draw.choice((16, 8)), 8)
        return data[:at] + attributes_changed(draw, data[at : at + entry]) + data[at + entry :]
    if kind < 0.6:
        return features_changed(draw, data, start + size)
    body = data_changed(draw, data[start : start + size])
    return put_together(data, start, size, body)


def opening_changed(draw, record):
    if record[:4] == b"\x40\0\0\0" and draw.random() < 0.7:
        return record[:8] + attributes_changed(draw, record[8:])
    if record[:4] == b"\x42\0\0\0" and draw.random() < 0.8:
        behind = text_changed(draw, record[12:])
        return record[:8] + len(behind).to_bytes(4, "little") + behind
    return record_changed(draw, record)


def put_together(data, start, size, body):
    """The file with other data, whose size and the places behind which are true."""
    table_at, more = start + size, len(body) - size
    made = bytearray(data[:start] + body + data[table_at:])
    struct.pack_into("<Q", made, 48, len(body))
    features = int.from_bytes(data[72:104], "little").bit_count()
    for feature in range(features):
        at = table_at + more + 16 * feature
        if at + 16 <= len(made):
            (offset,) = struct.unpack_from("<Q", made, at)
            struct.pack_into("<Q", made, at, offset + more & (1 << 64) - 1)
    return bytes(made)


def features_changed(draw, data, table_at):
    bits = int.from_bytes(data[72:104], "little")
    numbers = [each for each in range(256) if bits >> each & 1]
    if not numbers or table_at + 16 * len(numbers) > len(data):
        return any_number(draw, data)
    place = draw.randrange(len(numbers)) if draw.random() < 0.6 else 0
    at = table_at + 16 * place
    if draw.random() < 0.2:
        return with_number(draw, data, at + draw.choice((0, 8)), 8)
    offset, size = struct.unpack_from("<QQ", data, at)
    content = feature_changed(draw, numbers[place], data[offset : offset + size])
    # Where it is now there is room for any size.
    return data[:at] + struct.pack("<QQ", len(data), len(content)) + data[at + 16 :] + content
