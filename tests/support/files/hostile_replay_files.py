"""Files for `--replay` that were made to be hostile, part by part of their formats: numbers as large as their fields
allow, parts that change places, are repeated or cut short, and what becomes enormous when it is unpacked."""

import json
import random
import struct
import zlib
from importlib.util import find_spec

import test_firing_files as firing_files
from test_perf_data_input import zstd

from sonde.engines.firing_records import encode
from sonde.recording.firing_blocks import BLOCK
from sonde.recording.firing_file import MAGIC
from support.files import perf_files
from support.files.capture_files import Pcapng, pcap
from support.packets.frames import FRAMES

EXTREMES = (0, 1, 7, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
_PACKED, _ITEM = 1 << 14, struct.Struct("<II")


# Recordings


def recording_of(blocks):
    """From kinds and contents, with sums that are right."""
    packed = [(kind, len(each), zlib.compress(each)) for kind, each in blocks]
    return MAGIC + b"".join(BLOCK.pack(kind, len(p), size, zlib.crc32(p)) + p for kind, size, p in packed)


def items(kind, contents):
    return b"".join(firing_files.item(kind, each) for each in contents)


def changed_json(value, chance):
    """The value with one of its leaves, or what holds it, replaced."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        return {**value, key: changed_json(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], changed_json(value[at], chance), *value[at + 1 :]]
    large = chance.choice((*EXTREMES, -1, -(1 << 63), 1 << 200))
    return chance.choice(
        (large, large, large, None, "", "x" * 5000, "\ud800", [], {}, [value] * 50, 1e308, True, value)
    )


def changed_firing(record, chance):
    """A record of a firing with a number at one of its words."""
    data = bytearray(record)
    at = chance.randrange(len(data) // 4) * 4
    form = chance.choice("IQ")
    if at + struct.calcsize(form) <= len(data):
        struct.pack_into(f"<{form}", data, at, chance.choice(EXTREMES) & (1 << 8 * struct.calcsize(form)) - 1)
    return bytes(data[: chance.choice((len(data), len(data), len(data), at))])


def recordings(whole, count, seed):
    """By chance, of a whole one."""
    chance, parts = random.Random(seed), firing_files.blocks(whole)
    head = json.loads(parts[0][1])
    firing = encode(firing_files.some(1)[0])
    for number in range(count):
        made = list(parts)
        match number % 5:
            case 0:
                made[0] = 1, json.dumps(changed_json(head, chance)).encode()
            case 1:
                chance.shuffle(made)
                made = made * chance.randrange(1, 3)
            case 2:
                made.insert(1, (2, items(1, [changed_firing(firing, chance) for _ in range(20)])))
            case 3:
                event = {
                    "event": chance.choice(("mapped", "executed", "forked", "exited", "snapshot")),
                    "values": changed_json([5, 10, 5, [[4096, 8192, 0, "08:01", 5, "/lib/x", True, 0]] * 3], chance),
                }
                made.insert(1, (2, items(2, [json.dumps(event).encode()])))
            case 4:
                kind, content = made[at := chance.randrange(len(made))]
                made[at] = kind, content[: chance.randrange(len(content) + 1)] * chance.randrange(3)
        data = recording_of(made)
        if chance.random() < 0.2:
            at = len(MAGIC) + 4 * chance.randrange(3)
            data = data[:at] + struct.pack("<I", chance.choice(EXTREMES) & 0xFFFFFFFF) + data[at + 4 :]
        yield data


def happened(event, **values):
    return json.dumps({"event": event, "values": values}).encode()


def mapped(start, end, inode, path):
    return {
        "start": start, "end": end, "offset": 0, "device": "08:01", "inode": inode, "path": path, "executable": True
    }  # fmt: skip


def large_recordings(whole):
    """By name: little in the file, much in memory or to be done."""
    first, *rest = firing_files.blocks(whole)
    head = json.loads(first[1])
    firing = firing_files.some(1)[0]

    def with_head(**more):
        return recording_of([(1, json.dumps(head | more).encode()), *rest])

    def with_items(kind, contents, times=1):
        return recording_of([first, *[(2, items(kind, contents))] * times, *rest])

    yield "zeros", recording_of([first, *[(2, bytes(1 << 24))] * 40])
    yield "empty items of no kind", recording_of([first, *[(2, _ITEM.pack(9, 0) * (1 << 21))] * 10])
    yield "zeros for a description", recording_of([(1, bytes(1 << 24))])
    yield "spaces for a description", recording_of([(1, b" " * (1 << 24))])
    yield "a description in brackets", recording_of([(1, b"[" * 500_000)])
    yield "a number of many digits", recording_of([(1, b'{"version": ' + b"9" * (1 << 23) + b"}")])
    yield "many probes", with_head(probes=head["probes"] * 2000)
    yield "a format of many fields", with_head(formats=[["own", "it", FIELDS.format(1, 4) * 30_000]])
    yield "a format of one large field", with_head(formats=[["own", "it", FIELDS.format(1 << 62, 1 << 62)]])
    yield (
        "a format that ends nowhere",
        with_head(formats=[["own", "it", "name: it\nID: 5\nformat:\n" + "\tfield:" * 90_000]]),
    )
    yield "files without end", with_items(3, [b'{"path": "/%d", "build_id": "00"}' % n for n in range(100_000)])
    yield "what processes did, again", with_items(2, [happened("exited", time=1, pid=2)] * 100_000)
    maps = [mapped(4096 * n, 4096 * n + 8192, n, f"/lib/{n % 7}") for n in range(1, 2000)]
    snapshot = happened("snapshot", time=1, pid=10, mark=5, mappings=maps)
    yield "mappings that overlap", with_items(2, [snapshot] * 20)
    forks = [happened("forked", time=1, pid=n + 11, parent=n + 10) for n in range(20_000)]
    yield "a chain of processes", with_items(2, [snapshot, *forks])
    cycle = [happened("forked", time=1, pid=10 + n % 2, parent=11 - n % 2) for n in range(50_000)]
    yield "processes that made each other", with_items(2, [snapshot, *cycle])
    libraries = (mapped(4096, 8192, 5, f"/lib/{n}") for n in range(30_000))
    yield (
        "one library after the other",
        with_items(2, [happened("mapped", time=1, pid=10, mapping=n) for n in libraries]),
    )
    yield (
        "a mapping of everything",
        with_items(2, [happened("mapped", time=1, pid=10, mapping=mapped(0, (1 << 64) - 1, 5, "/dev/zero"))]),
    )
    yield "times in leaps", with_items(1, [encode(firing._replace(time=n * (1 << 54))) for n in range(1000)])
    yield (
        "times backwards",
        with_items(1, [encode(firing._replace(time=(1 << 63) - n * (1 << 50))) for n in range(1000)]),
    )
    yield "a deep stack", with_items(1, [encode(firing._replace(user_stack=tuple(range(1, 200_000))))])
    text = b"a" * 200_000
    yield (
        "long strings",
        with_items(1, [encode(firing._replace(reads=tuple(r._replace(data=text) for r in firing.reads)))] * 40),
    )
    yield "many reads", with_items(1, [encode(firing._replace(reads=firing.reads * 3000))] * 3)
    yield "results without end", with_items(1, [encode(firing._replace(results=((7, 1),) * 50_000))])
    many = [encode(firing._replace(time=n, thread=firing.thread._replace(tid=n, pid=n))) for n in range(20_000)]
    yield "many threads", with_items(1, many)
    broken = [
        bytes(each[:12]) + struct.pack("<I", struct.unpack_from("<I", each, 12)[0] | 2) + each[16:] for each in many
    ]
    yield "firings that never go on", with_items(1, broken)


FIELDS = "\tfield:char x[{0}];\toffset:8;\tsize:{1};\tsigned:1;\n"


# perf.data


def records_of(data):
    """The places of records in what they are made of: start and size."""
    at, found = 0, []
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("=H", data, at + 6)
        if size < 8:
            break
        found.append((at, size))
        at += size
    return found


def perf_data(count, seed):
    """By chance: records change places, or have a number where they had another."""
    chance = random.Random(seed)
    session = perf_files.session()
    for number in range(count):
        records = [bytearray(each) for each in session]
        match number % 5:
            case 0:
                chance.shuffle(records)
            case 1:
                each = chance.choice(records)
                struct.pack_into("=H", each, 6, chance.choice(EXTREMES) & 0xFFFF)
            case 2:
                for each in chance.sample(records, 3):
                    if len(each) > 16:
                        at = 8 * chance.randrange(1, len(each) // 8)
                        struct.pack_into("=Q", each, at, chance.choice(EXTREMES))
            case 3:
                struct.pack_into(
                    "=I", chance.choice(records), 0, chance.choice((0, 9, 12, 13, 17, *range(64, 84), 1 << 31))
                )
            case 4:
                records *= chance.randrange(2, 30)
        form = chance.choice((perf_files.file, perf_files.file, perf_files.pipe))
        data = bytearray(form([bytes(each) for each in records]))
        if chance.random() < 0.4:
            at = 8 * chance.randrange(1, min(len(data) // 8, 40))
            struct.pack_into("=Q", data, at, chance.choice((*EXTREMES, at, 104, len(data), len(data) - 8)))
        yield bytes(data)


def large_perf_data():
    """By name."""
    session = perf_files.session()
    thread = 10, 10
    yield "a record of no size", perf_files.file([*session, struct.pack("=IHH", 9, 0, 0) * 1000, *session])
    yield "the smallest records", perf_files.file([struct.pack("=IHH", 68, 0, 8) * 300_000])
    yield "rounds of nothing", perf_files.file([perf_files.finished_round()] * 300_000)
    yield "times in leaps", perf_files.file([perf_files.switch(n << 54, thread, (b"x", 5)) for n in range(1000)])
    yield (
        "times backwards",
        perf_files.file([perf_files.switch((1 << 63) - (n << 44), thread, (b"x", 5)) for n in range(1000)]),
    )
    chain = [perf_files.forked(n, (n + 1, n + 1), (n, n)) for n in range(1, 30_000)]
    yield "a chain of processes", perf_files.file([*session, *chain])
    yield (
        "processes that made each other",
        perf_files.file([*session, *[perf_files.forked(n, (1 + n % 2,) * 2, (2 - n % 2,) * 2) for n in range(30_000)]]),
    )
    maps = [perf_files.mapped(n, thread, 4096 * n, 1 << 40, b"/lib/%d" % (n % 9)) for n in range(20_000)]
    yield "mappings that overlap", perf_files.file([*maps, *session])
    yield (
        "a long chain of calls",
        perf_files.file([perf_files.sample(perf_files.CLOCK, n, thread, stack=range(8000)) for n in range(30)]),
    )
    whole = perf_files.file(session)
    for name, value in (("many events", 1 << 40), ("events of one byte", 1), ("no events", 0)):
        yield name, whole[:32] + struct.pack("=Q", value) + whole[40:]
    yield "features above each other", _with_features(whole, 104)
    yield "features that hold themselves", _with_features(whole, len(whole) - 300)
    for feature in (2, 3, 6, 12, 21, 25):
        for content in (
            b"\xff" * 64,
            struct.pack("=I", 1 << 31) * 16,
            struct.pack("=II", 0, 0xFFFFFFF0) * 8,
            b"\0" * 8,
        ):
            told = [(number, content if number == feature else each) for number, each in perf_files.features()]
            yield f"feature {feature} of {content[:8].hex()}", perf_files.file(session, told)
    text = perf_files.described()
    yield (
        "a format of many fields",
        perf_files.file(
            session,
            [
                (
                    1,
                    text.replace(
                        b"\tfield:pid_t prev_pid;", FIELDS.format(1, 4).encode() * 20_000 + b"\tfield:pid_t prev_pid;"
                    ),
                )
            ],
        ),
    )
    for name, payload in _compressed_payloads(session):
        yield (
            name,
            perf_files.file([struct.pack("=IHH", 81, 0, 8 + len(payload)) + payload, perf_files.finished_round()]),
        )


def _with_features(whole, at):
    (start, size) = struct.unpack_from("=QQ", whole, 40)
    data = bytearray(whole)
    for place in range(start + size, min(start + size + 96, len(data) - 16), 16):
        struct.pack_into("=QQ", data, place, at, len(data) - at)
    return bytes(data)


def _compressed_payloads(session):
    """Records in the place of many: zeros, rounds, records that are compressed again, and no end of them."""
    if not any(find_spec(each) for each in ("zstandard", "compression")):
        return
    large = 1 << 28
    for name, content in (
        ("packed zeros", bytes(large)),
        ("packed rounds", perf_files.finished_round() * (large // 64)),
        ("packed mappings", b"".join(perf_files.mapped(1, (10, 10), 4096, 4096, b"/x") for _ in range(2)) * 200_000),
    ):
        packed = zstd()(content)
        yield name, packed[:60_000]
    inner = b"".join(session)
    for _ in range(60):
        packed = zstd()(inner)
        inner = struct.pack("=IHH", 81, 0, 8 + len(packed)) + packed
    yield "packed again and again", zstd()(inner)
    yield "a window of 2 GiB", b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00" * 20
    yield "a content of 2 EiB", b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 61) + b"\x03\x00\x00x" * 20


# Packets


def packets(count, seed):
    """By chance: blocks change places, or have other lengths and numbers."""
    chance = random.Random(seed)
    frames = list(FRAMES.values())
    for number in range(count):
        order = chance.choice("<>")
        file = Pcapng(order)
        opening, file.data = file.data, b""
        parts = []
        for frame in frames[:5]:
            for make in (
                lambda file=file: file.interface(
                    "eth0",
                    resolution=chance.choice((0, 6, 9, 127, 128, 255)),
                    offset=chance.choice((0, -(1 << 63), (1 << 63) - 1)),
                ),
                lambda file=file, frame=frame: file.packet(
                    frame, chance.randrange(3), chance.choice(EXTREMES), chance.choice((None, 0xFFFFFFFF))
                ),
                lambda file=file, frame=frame: file.simple(frame),
                lambda file=file: file.other(chance.choice((2, 4, 5, 10, 0x0A0D0D0A, 0xBAD))),
            ):
                file.data = b""
                make()
                parts.append(file.data)
        chance.shuffle(parts)
        at = chance.randrange(len(parts))
        each = bytearray(parts[at])
        if number % 3:
            place = 4 * chance.randrange(len(each) // 4)
            struct.pack_into(f"{order}I", each, place, chance.choice(EXTREMES) & 0xFFFFFFFF)
        parts[at] = bytes(each)
        data = (opening if chance.random() < 0.95 else b"") + b"".join(parts)
        if not number % 4:
            data = bytearray(
                pcap(
                    [
                        (chance.choice(EXTREMES) & 0xFFFFFFFF, chance.choice(EXTREMES) & 0xFFFFFFFF, frame, 2000)
                        for frame in frames
                    ],
                    order,
                )
            )
            place = 4 * chance.randrange(min(len(data) // 4, 30))
            struct.pack_into(f"{order}I", data, place, chance.choice(EXTREMES) & 0xFFFFFFFF)
        yield bytes(data[: chance.choice((len(data), len(data), chance.randrange(len(data))))])


def large_packets():
    """By name."""
    frame = next(iter(FRAMES.values()))
    empty = Pcapng("<")
    yield "interfaces without end", empty.data + Pcapng("<").interface("x" * 40).data[len(empty.data) :] * 60_000
    many = Pcapng("<")
    for number in range(600):
        many = many.interface(f"eth{number}").packet(frame, number)
    yield "hundreds of devices", many.data
    yield "sections without end", empty.data * 200_000
    yield "the smallest blocks", empty.data + struct.pack("<III", 0xBAD, 12, 12) * 400_000
    yield "options without end", _block(6, struct.pack("<5I", 0, 0, 0, 0, 0) + struct.pack("<HH", 1, 0) * 1_000_000)
    yield "names without end", _block(4, (struct.pack("<HH", 1, 6) + bytes(4) + b"a\0" + bytes(2)) * 300_000)
    yield "a block of 4 GiB", empty.data + struct.pack("<II", 6, 0xFFFFFFFC) + bytes(1000)
    yield "packets of nothing", pcap([(1, n, b"", 0) for n in range(100_000)])
    yield "packets longer than they are", pcap([(1, n, frame, 0xFFFFFFFF) for n in range(1000)])
    yield "times in leaps", pcap([(n << 22 & 0xFFFFFFFF, 0, frame, 60) for n in range(1000)])
    for resolution in (0, 127, 128, 200, 255):
        file = Pcapng("<").interface("eth0", resolution=resolution, offset=(1 << 63) - 1)
        yield f"a resolution of {resolution}", file.packet(frame, 0, (1 << 64) - 1).packet(frame, 0, 0).data


def _block(kind, body):
    file = Pcapng("<").interface("eth0")
    return file.data + file.block(kind, body)
