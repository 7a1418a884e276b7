"""Files of recorded firings: what is written is read again, of a file that is cut off all whole blocks, and nothing
that is changed in one takes a traceback, long, or much memory."""

import io
import itertools
import random
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.engines.fired import FiringThread, KeptPacket, KeptStack, MemoryRead, RecordedFiring
from sonde.engines.firing_records import FiringDecoder, RecordError, decode, encode
from sonde.model.firing_record import BROKEN_OFF, CONTINUED
from sonde.model.probe import Internal, Probe, Syscall
from sonde.recording.anonymity import Pseudonyms
from sonde.recording.firing_blocks import BLOCK
from sonde.recording.firing_file import MAGIC, FiringFile, RecordedFirings, RecordingFileError, RecordingHead
from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import Executed, Forked, Mapped, MappingsSnapshot

PROBES = (
    Probe(1, "dtrace", "", "", "BEGIN", Internal("BEGIN")),
    Probe(518, "syscall", "vmlinux", "openat", "entry", Syscall(257, "openat", False)),
)
HEAD = RecordingHead(2, "kernel", "6.18", "ab" * 20, PROBES, 1000, 7, 5, places=((7, 518, 1), (3, 1, 0)))

U64 = st.integers(0, (1 << 64) - 1)
USER = st.integers(4096, (1 << 47) - 1)
texts = st.binary(min_size=1, max_size=40).map(lambda b: b.replace(b"\0", b"x"))
reads = st.builds(MemoryRead, USER, st.none() | texts, st.booleans())
threads = st.builds(
    FiringThread, st.integers(0, 1 << 22), st.integers(0, 1 << 22),
    st.binary(max_size=15).map(lambda b: b.replace(b"\0", b"x")), st.integers(-1, 70000), st.integers(-1, 70000),
    st.integers(-1, 1 << 22), U64,
)  # fmt: skip
stacks = st.none() | st.lists(U64, min_size=1, max_size=5).map(tuple)
packets = st.none() | st.binary(max_size=70).flatmap(
    lambda data: st.builds(KeptPacket, st.just(data), st.integers(len(data), 1 << 17))
)
firings = st.builds(
    RecordedFiring, st.just(1), U64, st.integers(0, 255), threads, st.binary(max_size=5).map(lambda b: b * 8),
    st.just(bytes(range(168))), st.lists(reads, max_size=4).map(tuple), stacks, stacks,
    st.lists(st.tuples(st.integers(1, 200), U64), max_size=2).map(tuple), packets,
    st.none() | st.builds(KeptStack, st.just(bytes(168)), U64, st.binary(min_size=1, max_size=70), st.booleans()),
    st.none(),
)  # fmt: skip


def written(*happenings, head=HEAD, ends=True):
    file = io.BytesIO()
    made = FiringFile(file, head)
    for each in happenings:
        if isinstance(each, bytes):
            made.ring(each)
        elif isinstance(each, RecordedFiring):
            made.firing(encode(each))
        else:
            made.event(each)
        made.flush()
    if ends:
        made.finish(3)
    return file.getvalue()


def read(data):
    return RecordedFirings(io.BytesIO(data), "it")


@settings(max_examples=200, deadline=None)
@given(firings)
def test_a_firing_is_read_as_it_was_written(fired):
    assert decode(encode(fired, 2)) == (fired, 2)


def ring(firings, discarded=()):
    """Firings as the kernel's programs write them: by the numbers of the program and the probe."""
    found = b""
    for number, each in enumerate(firings):
        record = encode(each._replace(probe=518), 7 << 8)
        found += struct.pack("<II", len(record), 99) + record + bytes(-len(record) % 8)
        if number in discarded:
            found += struct.pack("<II", 13 | 1 << 30, 0) + bytes(16)
    return found


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(st.lists(firings, min_size=1, max_size=5), st.sets(st.integers(0, 4)))
def test_records_of_rings_are_read_as_firings(found, discarded):
    source = read(written(ring(found[:2], discarded), *found[:1], ring(found[2:], discarded)))
    assert list(source.happenings()) == [*found[:2], found[0], *found[2:]]
    assert (source.damage, source.summary.firings) == ("", len(found) + 1)


@pytest.mark.long
@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(firings, min_size=1, max_size=4), min_size=1, max_size=4), st.integers(1, 40))
def test_a_ring_that_was_written_is_given_back_while_the_file_grows(rings, factor):
    file = io.BytesIO()
    made = FiringFile(file, HEAD, again=lambda size, place: file.getvalue()[place : place + size])
    decoder = FiringDecoder({(7, 518): 1})
    given_back = [made.kept_ring(ring(each * factor)) for each in rings]
    made.finish(0)
    found = [[decoder(record)[0] for record in each] for each in given_back]
    assert found == [each * factor for each in rings]
    assert list(read(file.getvalue()).happenings()) == [one for each in found for one in each]


def test_a_recording_of_the_first_version_is_read():
    source = read(written(*some(), head=HEAD._replace(version=1, places=())))
    assert (list(source.happenings()), source.damage) == (some(), "")


def test_much_of_a_ring_is_in_several_blocks():
    many = some(3000)
    data = written(ring(many), ends=False)
    assert list(read(data).happenings()) == many
    cut = read(data[: len(data) - 100])
    found = list(cut.happenings())
    assert cut.damage
    assert found == many[: len(found)]
    assert 500 < len(found) < 3000


def some(count=7):
    thread = FiringThread(11, 10, b"cat", 0, 0, 1, 0xFFFF8881_00000000)
    read_there = (MemoryRead(0x7F00_0000_1000, b"/etc/passwd", True),)
    return [
        RecordedFiring(1, 100 + number, number % 2, thread, b"", bytes(168), read_there, None, (1, 2, 3))
        for number in range(count)
    ]


def test_what_is_written_is_read_in_order():
    mapping = Mapping(4096, 8192, 0, "08:01", 5, "/lib/x", True)
    happened = [Forked(1, 10, 1), Mapped(2, 10, mapping), *some(), Executed(9, 10)]
    source = read(written(*happened))
    assert list(source.happenings()) == happened
    assert (source.damage, source.lost, source.is_over) == ("", 3, True)
    assert source.probes == PROBES


def test_begin_is_apart():
    begin = some(1)[0]._replace(probe=0)
    source = read(written(begin, *some(2)))
    assert source.internal("BEGIN") == begin
    assert source.internal("BEGIN") is None
    assert list(source.happenings()) == some(2)


def test_a_file_that_is_cut_off_has_all_whole_blocks():
    data = written(*some())
    counts = set()
    for end in range(len(MAGIC), len(data)):
        try:
            source = read(data[:end])
        except RecordingFileError:
            continue
        found = list(source.happenings())
        assert found == some()[: len(found)]
        assert source.damage
        counts.add(len(found))
    assert counts == set(range(8))


def test_a_block_is_read_without_those_before_it():
    data = written(*some())
    at = len(MAGIC)
    starts = []
    while at < len(data):
        starts.append(at)
        at += BLOCK.size + BLOCK.unpack_from(data, at)[1]
    # The description, then the last two blocks of firings alone.
    middle = data[: starts[1]] + data[starts[6] :]
    assert list(read(middle).happenings()) == some()[5:]


def item(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def with_block(kind, payload, size=None):
    packed = zlib.compress(payload)
    head = BLOCK.pack(kind, len(packed), len(payload) if size is None else size, zlib.crc32(packed))
    return written(*some(1), ends=False) + head + packed


@pytest.mark.parametrize(
    "block",
    [
        (1, b"{}"), (4, b"abc"), (4, struct.pack("<II", 1 << 29, 0)), (4, struct.pack("<II", 8, 0) + bytes(8)),
        (4, struct.pack("<II", 88, 0) + encode(RecordedFiring(518, 1, 0, FiringThread(1, 1, b"")), 9 << 8)),
        (2, struct.pack("<II", 1, 1 << 30)), (2, struct.pack("<II", 9, 0)), (2, b"abc"),
        (2, struct.pack("<II", 1, 8) + bytes(8)), (2, struct.pack("<II", 2, 2) + b"{}" + bytes(6)),
        (3, b"[]"), (3, b"\xff"), (2, bytes(1 << 20), 1 << 24), (2, bytes(1 << 24), 100), (7, b""),
        (2, struct.pack("<II", 2, 6) + b"[[[[[[" + bytes(2)),
        (2, item(2, b'{"event": "mapped"}')), (2, item(2, b'{"event": "mapped", "values": 5}')),
        (2, item(3, b'{"a": 1}')), (2, item(3, b'{"path": "/x", "build_id": "xyz"}')), (2, item(3, b"[]")),
    ],
)  # fmt: skip
def test_a_block_without_sense_costs_itself(block):
    data = with_block(*block)
    source = read(data)
    assert list(source.happenings()) == some(1)
    assert source.damage
    behind = written(*some(3))[len(written(ends=False)) :]
    source = read(data + behind)
    found = list(source.happenings())
    # What stands before its mistake in a block of the right sum is taken.
    assert found[:1] == some(1)
    assert found[-3:] == some(3)
    assert source.damage


def starts(data):
    """Where blocks begin, and the end."""
    found = [len(MAGIC)]
    while found[-1] < len(data):
        found.append(found[-1] + BLOCK.size + BLOCK.unpack_from(data, found[-1])[1])
    return found


@given(st.data())
@settings(deadline=None)
def test_damage_costs_the_blocks_that_it_hits(draw):
    """Bytes changed, zeroed, lost or put in anywhere behind the description: all blocks that are as they were are
    replayed, and the others' firings are counted."""
    whole = written(*some(9), ring(some(9)), *some(4))
    places = starts(whole)
    at = draw.draw(st.integers(places[1], len(whole) - 1))
    length = draw.draw(st.integers(1, 200))
    kind = draw.draw(st.sampled_from(["changed", "zeros", "lost", "put in"]))
    junk = draw.draw(st.binary(min_size=length, max_size=length))
    if kind == "changed":
        data = whole[:at] + bytes([whole[at] ^ (junk[0] or 1)]) + whole[at + 1 :]
    elif kind == "zeros":
        data = whole[:at] + bytes(len(whole[at : at + length])) + whole[at + length :]
    elif kind == "lost":
        data = whole[:at] + whole[at + length :]
    else:
        data = whole[:at] + junk + whole[at:]
    numbers = [1] * 9 + [9] + [1] * 4 + [0]
    sound = [end <= at or data.endswith(whole[start:]) for start, end in itertools.pairwise(places)][1:]
    expected, given = [], iter([*some(9), *some(9), *some(4)])
    for number, is_sound in zip(numbers, sound, strict=True):
        block = list(itertools.islice(given, number))
        expected += block if is_sound else []
    source = read(data)
    found = list(source.happenings())
    # A change may be undone by another: what was cut may be what follows.
    assert found == expected or found == [*some(9), *some(9), *some(4)]
    if len(found) < 22:
        assert source.damage
    if len(found) < 22 and sound[-1]:
        assert source.damage.endswith(f"; {22 - len(found)} of 22 firings are missing")
        assert source.remainder == "all else was replayed"


def test_a_firing_whose_continuation_was_lost_is_replayed_in_its_place():
    first, second, third = some(3)
    whole = [encode(first, BROKEN_OFF), encode(first, CONTINUED), encode(second, BROKEN_OFF), encode(third)]
    file = io.BytesIO()
    made = FiringFile(file, HEAD)
    for each in whole:
        made.firing(each)
        made.flush()
    made.finish(0)
    data = file.getvalue()
    places = starts(data)
    lost = data[: places[2]] + bytes(places[3] - places[2]) + data[places[3] :]
    source = read(lost)
    assert len(list(source.happenings())) == 3
    assert "1 of 4 firings are missing" in source.damage


def test_a_pipe_loses_what_stands_behind_a_head_without_sense():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    data = written(*some(4))
    places = starts(data)
    packed = bytearray(data)
    packed[places[2] + BLOCK.size + 3] ^= 255
    source = RecordedFirings(Pipe(bytes(packed)), "it")
    assert list(source.happenings()) == [some()[0], *some()[2:4]]
    packed[places[2]] = 99
    source = RecordedFirings(Pipe(bytes(packed)), "it")
    assert list(source.happenings()) == some(1)
    assert source.remainder == "what stands before was replayed"


def test_a_file_of_heads_without_sense_is_given_up():
    """Each place looks like the head of a large block, whose sum would have to be made."""
    fake = BLOCK.pack(2, 1 << 24, 16, 0) + b"\x78\x01"
    data = written(*some(1), ends=False) + b"x" + fake * (1 << 20)
    source = read(data)
    assert list(source.happenings()) == some(1)
    assert source.damage


@pytest.mark.parametrize(
    "change",
    [
        {"version": 5},
        {"places": [[7, 518, 2]]},
        {"places": [[7, "x", 1]]},
        {"probes": 5},
        {"realtime_offset": "x"},
        {"origin": None},
    ],
)
def test_a_description_without_sense_is_refused(change):
    import json

    data = written()
    size = BLOCK.unpack_from(data, len(MAGIC))[1]
    head = json.loads(zlib.decompress(data[len(MAGIC) + BLOCK.size :][:size])) | change
    packed = zlib.compress(json.dumps(head).encode())
    block = BLOCK.pack(1, len(packed), len(json.dumps(head)), zlib.crc32(packed)) + packed
    with pytest.raises(RecordingFileError):
        read(MAGIC + block)


def mutated(data, seed):
    """The data with some bytes changed, cut, doubled or moved; half of the time with sums that are right."""
    chance = random.Random(seed)
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                del changed[at : at + chance.randint(1, 64)]
            case 2:
                changed[at:at] = changed[at : at + chance.randint(1, 64)]
            case 3:
                changed[at : at + 4] = struct.pack("<I", chance.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 24)))
        if len(changed) < len(MAGIC) + BLOCK.size:
            break
    return bytes(changed)


def blocks(data):
    """Their kinds and contents."""
    at, found = len(MAGIC), []
    while at < len(data):
        kind, stored, _, _ = BLOCK.unpack_from(data, at)
        found.append((kind, zlib.decompress(data[at + BLOCK.size :][:stored])))
        at += BLOCK.size + stored
    return found


def repacked(data, seed):
    """A change within a block that is packed again, so that its sum is right."""
    chance = random.Random(seed)
    found = blocks(data)
    number = chance.randrange(len(found))
    kind, content = found[number]
    found[number] = kind, mutated(content + bytes(24), seed)
    packed = [(kind, len(each), zlib.compress(each)) for kind, each in found]
    return MAGIC + b"".join(BLOCK.pack(k, len(p), size, zlib.crc32(p)) + p for k, size, p in packed)


@pytest.mark.share(1)
@pytest.mark.parametrize("change", [mutated, repacked])
def test_changed_files_are_refused_or_shorter(change):
    mapping = Mapping(4096, 8192, 0, "08:01", 5, "/lib/x", True)
    data = written(some(1)[0]._replace(probe=0), Mapped(2, 10, mapping), *some(20), ring(some(20)))
    tracemalloc.start()
    try:
        for seed in range(500):
            try:
                source = read(change(data, seed))
                source.internal("BEGIN")
                assert len(list(source.happenings())) <= 60
            except RecordingFileError:
                pass
        assert tracemalloc.get_traced_memory()[1] < 256 << 20
    finally:
        tracemalloc.stop()


def test_a_record_that_is_none_is_refused():
    good = encode(some(1)[0])
    for end in range(len(good)):
        with pytest.raises(RecordError):
            decode(good[:end])


def test_pseudonyms_are_as_long_and_the_same_for_the_same():
    thread = FiringThread(11, 10, b"cat", 1000, 1000, 1, 0)
    fired = some(1)[0]._replace(
        thread=thread,
        reads=(
            MemoryRead(0x7F00_0000_1000, b"/home/cat/x.c", True),
            MemoryRead(0x7F00_0000_2000, struct.pack("<HH4s8x", 2, 80, bytes((10, 1, 2, 3)))),
        ),
    )
    made, _ = decode(Pseudonyms(("names", "paths", "addresses"))(encode(fired)))
    assert made.thread.comm != b"cat"
    assert len(made.thread.comm) == 3
    first, second = made.reads
    _, home, cat, file = first.data.split(b"/")
    assert cat == made.thread.comm
    assert (len(home), len(file)) == (4, 3)
    assert second.data[4:8] != bytes((10, 1, 2, 3))
    assert second.data[:4] == struct.pack("<HH", 2, 80)
    assert first.address & 0xFFF == 0
    assert first.address != fired.reads[0].address


def test_a_file_that_was_mapped_is_known_by_its_build_id(tmp_path):
    """A copy of it elsewhere has its names, another file at its path has none."""
    import ctypes.util
    import os
    import shutil

    library = os.path.realpath(f"/lib/x86_64-linux-gnu/{ctypes.util.find_library('c')}")
    path = str(tmp_path / "it.so")
    shutil.copy(library, path)
    status = os.stat(path)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    mapping = Mapping(0x10000, 0x400000, 0, device, status.st_ino, path, True)
    data = written(MappingsSnapshot(1, 10, 0, (mapping,)))

    def name():
        source = read(data)
        names = source.symbolizer(True)
        for each in source.happenings():
            names.take(each)
        return names.user(10, 0x50000)[1]

    known = name()
    shutil.copy(path, path + ".new")
    os.replace(path + ".new", path)
    assert name() == known is not None
    shutil.copy(os.path.realpath("/proc/self/exe"), path + ".new")
    os.replace(path + ".new", path)
    assert name() is None


def test_with_pseudonyms_for_paths_no_build_id_is_told():
    import os

    own = os.path.realpath("/proc/self/exe")
    mapping = Mapping(0x10000, 0x400000, 0, "00:00", os.stat(own).st_ino, own, True)
    for kinds, told in (((), 1), (("names", "addresses"), 1), (("paths",), 0)):
        data = written(Mapped(1, 10, mapping), head=HEAD._replace(anonymous=kinds))
        assert sum(b"build_id" in content for kind, content in blocks(data) if kind == 2) == told


def test_formats_of_trace_events_are_those_of_the_file():
    text = "name: it\nID: 5\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"
    assert read(written(head=HEAD._replace(formats=(("own", "it", text),)))).formats == {("own", "it"): text}
