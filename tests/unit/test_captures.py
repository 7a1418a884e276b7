"""Records of capture() as a pcapng file: blocks, the values with each packet, what was lost, files that fail."""

import json
import os
import random
import struct
from types import SimpleNamespace

import pytest
from support.files import pcapng_reader as reader
from support.files.records import BEGIN, conversions, record

from sonde.captures import sink
from sonde.captures.columns import by_column
from sonde.captures.file import CaptureFile
from sonde.captures.interfaces import InterfacePlace
from sonde.captures.rows import BlockMaker
from sonde.captures.sink import Captures
from sonde.captures.values import MAGIC
from sonde.consume.events import Drop, Record
from sonde.consume.options import Options
from sonde.consume.runs import spans
from sonde.frontends.d.report.text import TextReport
from sonde.model.probe import Internal, Probe
from sonde.model.records import (
    CaptureAction,
    CommandAction,
    ExitAction,
    Field,
    PacketAction,
    PrintfAction,
    RecordLayout,
    TraceAction,
)
from sonde.model.spec import TracingSpec

IN, OUT = (
    Probe(7, "packet", "eth0", "ingress", "", Internal("")),
    Probe(8, "packet", "eth0", "egress", "", Internal("")),
)
OTHER = Probe(9, "packet", "tun0", "ingress", "", Internal(""))
CAPTURE = CaptureAction(Field(24, 8, "int"), Field(32, 4, "int"), Field(36, 8, "long_bytes"))
NUMBER, NAME = Field(16, 4, "int", True), Field(20, 4, "interned")
SIZE, TIME = 48, 1_700_000_000_123_456_789
PLAIN, TRACED, PRINTED, ENDING = (
    RecordLayout(number, SIZE, actions, False, number)
    for number, actions in enumerate(
        (
            (CAPTURE,),
            (TraceAction(NUMBER), TraceAction(NAME), CAPTURE),
            (PrintfAction(conversions(("port ", "d"), ("\n", "")), (NUMBER,)), CAPTURE),
            (ExitAction(NUMBER), CAPTURE),
        ),
        1,
    )
)
STRINGS = (b"first", "zw\u00f6lf".encode(), b"\xff")
LINKS = {"eth0": 1, "tun0": 101}


@pytest.fixture
def session(tmp_path, monkeypatch, capfd):
    """The sink over a file, and what is in it."""
    monkeypatch.setattr(sink, "link_type", LINKS.__getitem__)
    made = []

    def start(*layouts, probes=(IN, OUT), programs=(), path=tmp_path / "out.pcapng", is_live=True):
        spec = TracingSpec((), programs, layouts, (), STRINGS, probes)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        made.append(descriptor)
        report = TextReport(spec, Options())
        file = CaptureFile(descriptor)
        captures = Captures(spec, report, file, is_live)
        by_number = {each.number: each for each in layouts}

        def show(*records):
            for number, _, start, stop, stride in spans(memoryview(b"".join(records))):
                captures.run(by_number[number], memoryview(b"".join(records))[start:stop], stride)
            captures.flush()

        def content():
            captures.flush()
            with open(path, "rb") as opened:
                return opened.read()

        return SimpleNamespace(sink=captures, show=show, content=content, file=file, out=lambda: capfd.readouterr())

    yield start
    for descriptor in made:
        os.close(descriptor)


def packet(layout, data, number=0, name=0, probe=IN, time=TIME, length=None, begin=SIZE, between=b""):
    """A record of a packet, followed by bytes that mean nothing."""
    length = len(data) if length is None else length
    head = struct.pack("<iIQIII4x", number, name, time, length, begin, len(data))
    return record(layout.number, head + between + data + b"\xee" * (-len(data) % 8), probe.id)


def pattern(size, seed=0):
    return bytes((seed + 7 * n) & 0xFF for n in range(size))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 60, 61, 64, 255, 256, 257, 1500])
def test_many_packets_of_one_size_have_their_bytes_times_lengths_and_directions(session, size):
    """By the column up to some size, by the row beyond it."""
    packets = [(pattern(size, n), TIME + n * 10**9, 60_000 + n, (IN, OUT)[n % 3 == 0]) for n in range(100)]
    made = session(PLAIN)
    made.show(*(packet(PLAIN, data, probe=probe, time=time, length=length) for data, time, length, probe in packets))
    found = reader.packets(made.content())
    directions = [int.from_bytes(one.options[2], "little") for one in found]
    assert directions == [1 if probe is IN else 2 for _, _, _, probe in packets]
    assert [(one.data, one.time, one.length) for one in found] == [each[:3] for each in packets]
    assert made.out() == ("", "")


def test_packets_of_all_sizes_that_come_one_after_the_other(session):
    """Some fill the same number of words in the ring."""
    sizes = [n * 37 % 200 for n in range(200)] + [61, 62, 63, 64] * 20
    made = session(PLAIN)
    made.show(*(packet(PLAIN, pattern(size, n), time=TIME + n) for n, size in enumerate(sizes)))
    found = reader.packets(made.content())
    assert [(one.data, one.time) for one in found] == [(pattern(size, n), TIME + n) for n, size in enumerate(sizes)]


def test_an_interface_stands_before_its_packets_with_its_name_and_link_type(session):
    made = session(PLAIN, probes=(IN, OTHER))
    packets = [packet(PLAIN, pattern(20), probe=(IN, OTHER)[n % 2]) for n in range(40)]
    made.show(*packets)
    interfaces = reader.interfaces(made.content())
    assert [(link, options[2], options[9]) for link, _, options in interfaces] == [
        (1, b"eth0", b"\x09"), (101, b"tun0", b"\x09"),
    ]  # fmt: skip
    assert [one.interface for one in reader.packets(made.content())] == [0, 1] * 20


def test_an_interface_without_packets_is_described_too(session):
    program = SimpleNamespace(probes=((IN, 0), (OUT, 0), (OTHER, 0)))
    made = session(PLAIN, probes=(IN, OUT, OTHER), programs=(program,))
    assert [options[2] for _, _, options in reader.interfaces(made.content())] == [b"eth0", b"tun0"]


@pytest.mark.parametrize("count", [1, 40])
def test_values_before_a_packet_are_its_comment(session, count):
    made = session(TRACED, PRINTED)
    made.show(*(packet(TRACED, pattern(61), number=-n, name=1) for n in range(count)))
    made.show(*(packet(PRINTED, pattern(61), number=n) for n in range(count)))
    comments = [one.options[1].decode() for one in reader.packets(made.content())]
    assert comments == [f"{-n} zw\u00f6lf" for n in range(count)] + [f"port {n}" for n in range(count)]
    assert made.out() == ("", "")


def test_values_can_be_read_by_a_program(session):
    """The header says which layout has what at which offset; a packet's option has the record before the packet."""
    made = session(PLAIN, TRACED._replace(names=("self->depth", "")))
    made.show(packet(TRACED, b"abcde", number=-5, name=2), packet(PLAIN, b"abc"))
    first, second = reader.packets(made.content())
    assert set(second.options) == {2}
    number, magic = struct.unpack_from("<I8s", first.options[2989])
    values = first.options[2989][12:]
    section = next(reader.blocks(made.content()))
    described = reader.options(section.body[16:])[2989]
    assert (number, magic) == struct.unpack_from("<I8s", described) == (32473, MAGIC)
    description = json.loads(described[12:])
    (layout,) = [one for one in description["layouts"] if one["number"] == struct.unpack_from("<I", values)[0]]
    (probe,) = [one for one in description["probes"] if one["id"] == struct.unpack_from("<I", values, 4)[0]]
    assert (layout["clause"], probe["name"]) == (2, "packet:eth0:ingress:")
    shown, name = (one["field"] for one in layout["values"])
    assert (shown["kind"], shown["signed"], name["kind"]) == ("int", True, "interned")
    assert [one.get("name") for one in layout["values"]] == ["self->depth", None]
    assert struct.unpack_from("<i", values, shown["offset"]) == (-5,)
    assert struct.unpack_from("<I", values, name["offset"]) == (2,)
    assert len(description["strings"]) == 3


def test_long_strings_before_a_packet_are_among_its_values(session):
    text = b"a string that is as long as it is"
    layout = RecordLayout(5, SIZE, (TraceAction(Field(16, 8, "long_string")), CAPTURE), False, 5)
    made = session(layout)
    records = [packet(layout, pattern(64, n), SIZE, len(text), begin=SIZE + len(text), between=text) for n in range(20)]
    made.show(*records)
    found = reader.packets(made.content())
    assert [(one.data, one.options[1]) for one in found] == [(pattern(64, n), text) for n in range(20)]
    assert found[0].options[2989].endswith(text)


@pytest.mark.parametrize("layout", [PLAIN, TRACED, PRINTED])
@pytest.mark.parametrize("size", [0, 3, 61, 64])
def test_blocks_are_the_same_whichever_way_they_are_made(layout, size):
    """By the column and one by one; comments of one length and of several, empty ones, two directions."""
    places = {7: InterfacePlace(0, 1), 8: InterfacePlace(1, 2)}
    chosen = random.Random(size)
    for length in (0, 1, 4, 5, 90):
        records = [
            packet(layout, pattern(size, n), n, 1, chosen.choice((IN, OUT)), TIME + chosen.getrandbits(40), 99 + n)
            for n in range(50)
        ]
        data = memoryview(b"".join(records))
        texts = None if layout is PLAIN else [bytes(chosen.choices(b"abc ", k=length)) for _ in records]
        made = by_column(data, len(records[0]), CAPTURE, places, texts)
        assert made is not None
        assert made == BlockMaker(CAPTURE, len(records[0]), places).blocks(data, texts)


@pytest.mark.parametrize("text", ["z" * 70_000, "\u00f6" * 40_000], ids=["ascii", "more"])
def test_a_comment_is_cut_where_an_option_ends(session, text):
    layout = RecordLayout(5, SIZE, (PrintfAction(conversions((text, "d")), (NUMBER,)), CAPTURE), False, 5)
    made = session(layout)
    made.show(*(packet(layout, b"abcd", number=n) for n in range(20)))
    found = reader.packets(made.content())
    assert {one.options[1].decode() for one in found} == {text.encode()[:65535].decode(errors="ignore")}
    assert [struct.unpack_from("<i", one.options[2989], 12 + 16)[0] for one in found] == list(range(20))


def test_a_comment_that_is_not_text_does_not_spoil_the_file(session):
    layout = RecordLayout(5, SIZE, (TraceAction(NAME), CAPTURE), False, 5)
    made = session(layout)
    made.show(packet(layout, b"abc", name=2))
    assert reader.packets(made.content())[0].options[1].decode() == "\\xff"


def test_a_record_that_does_more_than_capture_is_a_packet_as_well(session):
    made = session(ENDING)
    one = Record(ENDING, IN, 0, memoryview(packet(ENDING, b"abcdef")))
    made.sink.begin(one)
    made.sink.action(one, CAPTURE)
    made.sink.end(one)
    assert [each.data for each in reader.packets(made.content())] == [b"abcdef"]
    assert made.out() == ("", "")


PCAP = PacketAction(
    Field(24, 8, "int"), Field(32, 4, "int"), Field(36, 4, "int"), Field(40, 4, "int"), Field(48, 16, "bytes")
)


def pcap(number, data, length, link):
    payload = struct.pack("<iIQIII4x", number, 0, TIME, length, len(data), link) + data.ljust(16, b"\xee")
    return Record(PCAPPED, BEGIN, 0, memoryview(record(6, payload)))


PCAPPED = RecordLayout(6, 64, (TraceAction(NUMBER), PCAP, TraceAction(NAME)), False, 6)


def tell(made, one):
    made.sink.begin(one)
    for action in one.layout.actions:
        made.sink.action(one, action)
    made.sink.end(one)


def test_packets_of_pcap_are_of_an_interface_of_their_kind(session):
    made = session(PLAIN, PCAPPED, probes=(IN, BEGIN))
    made.show(packet(PLAIN, b"abc"))
    for link in (1, 12, 1):
        tell(made, pcap(-3, b"0123456789"[:link], 99, link))
    made.sink.finish({BEGIN.id: 3})
    assert [(link, options[2]) for link, _, options in reader.interfaces(made.content())] == [
        (1, b"eth0"), (1, b"pcap()"), (12, b"pcap()"),
    ]  # fmt: skip
    found = [(one.interface, one.data, one.length, one.time, one.options.get(1)) for one in
             reader.packets(made.content())]  # fmt: skip
    assert found[1:] == [
        (1, b"0", 99, TIME, b"-3"), (2, b"0123456789", 99, TIME, b"-3"), (1, b"0", 99, TIME, b"-3"),
    ]  # fmt: skip
    assert [7 in options for _, options in reader.statistics(made.content())] == [True, False, False]
    _, *lines = made.out().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["first"] * 3


def test_packets_of_pcap_may_be_behind_the_record_and_of_a_device(session):
    action = PacketAction(*PCAP[:2], Field(44, 4, "int"), Field(36, 4, "int"), Field(40, 8, "long_bytes"))
    layout = RecordLayout(6, SIZE, (TraceAction(NUMBER), action), False, 6)
    made = session(layout)
    payload = struct.pack("<iIQIIII", 4, 0, TIME, 99, 1, SIZE, 5) + b"abcde\xee\xee\xee"
    tell(made, Record(layout, OUT, 0, memoryview(record(6, payload, OUT.id))))
    (found,) = reader.packets(made.content())
    assert (found.data, found.length, found.time, found.options[1], found.options[2][0]) == (
        b"abcde",
        99,
        TIME,
        b"4",
        2,
    )
    assert [options[2] for _, _, options in reader.interfaces(made.content())] == [b"eth0"]


def test_packets_of_pcap_go_where_freopen_wants_them(session, tmp_path):
    freopen = CommandAction("freopen", conversions((str(tmp_path / "own.pcap"), "")), ())
    made = session(PCAPPED._replace(actions=(freopen, PCAP)), probes=(BEGIN,))
    tell(made, pcap(0, b"abc", 3, 1)._replace(layout=RecordLayout(6, 64, (freopen, PCAP), False, 6)))
    assert reader.packets(made.content()) == []
    made.sink.flush()
    assert (tmp_path / "own.pcap").stat().st_size == 24 + 16 + 3


def test_what_stands_behind_capture_is_printed(session):
    layout = RecordLayout(5, SIZE, (TraceAction(NUMBER), CAPTURE, TraceAction(NAME)), False, 5)
    made = session(layout)
    made.show(*(packet(layout, pattern(9), number=n) for n in range(2)))
    assert [one.options[1] for one in reader.packets(made.content())] == [b"0", b"1"]
    heading, *lines = made.out().out.splitlines()
    assert heading.split() == ["CPU", "ID", "FUNCTION:NAME"]
    assert [line.split() for line in lines] == [["0", "7", "ingress:", "first"]] * 2


def test_what_is_not_captured_is_printed(session):
    lines = RecordLayout(6, 24, (PrintfAction(conversions(("seen ", "d"), ("\n", "")), (NUMBER,)),), False, 6)
    made = session(PLAIN, lines)
    made.show(packet(PLAIN, b"abc"), record(6, struct.pack("<i4x", 3), IN.id))
    assert made.out().out.split()[-2:] == ["seen", "3"]
    assert len(reader.packets(made.content())) == 1


def test_the_end_says_what_was_captured_and_lost_at_each_interface(session):
    made = session(PLAIN, probes=(IN, OUT, OTHER))
    made.show(*(packet(PLAIN, b"abc", probe=(IN, OUT, OTHER)[n % 3]) for n in range(33)))
    made.sink.drop(Drop("records", 0, 9))
    made.sink.finish({OUT.id: 4, IN.id: 3, OTHER.id: 2})
    found = reader.statistics(made.content())
    counts = [[struct.unpack("<Q", options[code])[0] for code in (4, 7, 8)] for _, options in found]
    assert [interface for interface, _ in found] == [0, 1]
    assert counts == [[29, 7, 22], [13, 2, 11]]
    assert "9 drops on CPU 0" in made.out().err


def test_the_end_of_a_recording_that_is_cut_says_no_more_than_is_known(session):
    made = session(PLAIN, is_live=False)
    made.show(packet(PLAIN, b"abc"))
    made.sink.finish(None)
    ((_, options),) = reader.statistics(made.content())
    assert {code: int.from_bytes(value, "little") for code, value in options.items()} == {8: 1}


def test_a_full_disk_leaves_whole_blocks_and_counts_the_others(session, monkeypatch):
    """The first write of packets takes a part of a block, the next one fails."""
    made = session(PLAIN)
    before = len(made.content())
    room = 3 * 44 + 10
    write = os.write

    def full(descriptor, data):
        nonlocal room
        if not room:
            raise OSError(28, "No space left on device")
        taken, room = min(room, len(data)), 0
        return write(descriptor, data[:taken])

    monkeypatch.setattr(os, "write", full)
    made.show(*(packet(PLAIN, b"abc") for _ in range(5)))
    assert made.sink.has_failed
    made.show(packet(PLAIN, b"abc"))
    made.sink.finish({})
    monkeypatch.undo()
    size = len(reader.packets(made.content()))
    assert (size, made.file.packets, made.file.lost) == (2, 2, 4)
    assert len(made.content()) > before
    assert made.file.failure == "No space left on device"


def test_a_pipe_that_nobody_reads_any_more_is_no_death(session, tmp_path):
    path = tmp_path / "pipe.pcapng"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    made = session(PLAIN, path=path)
    os.close(reading)
    made.show(packet(PLAIN, b"abc"))
    assert (made.sink.has_failed, made.file.packets, made.file.lost) == (True, 0, 1)
    assert made.file.failure == "Broken pipe"
