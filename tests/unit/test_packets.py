"""What pcap() recorded: the capture file, and what is shown where the output is none."""

import struct

import pytest
from support.files.records import Session, record

from sonde.model.conversions import Conversion
from sonde.model.records import CommandAction, Field, OtherAction, PacketAction
from sonde.report import pcap

PACKET = PacketAction(
    Field(16, 8, "int"), Field(24, 4, "int"), Field(28, 4, "int"), Field(32, 4, "int"), Field(40, 8, "bytes")
)
LAYOUT = 1, 48, (PACKET,)


def one(data, length=None, link=1, time=1_700_000_000_000_000_007):
    """The record of a packet."""
    head = struct.pack("<QIIII", time, len(data) if length is None else length, len(data), link, 0)
    return record(1, head + data.ljust(8, b"\xee"))


def to_file(path):
    """A layout whose record sends the output to a file."""
    return 2, 16, (CommandAction("freopen", (Conversion(str(path), letters=""),), ()),)


@pytest.fixture
def no_reader(monkeypatch):
    monkeypatch.setattr(pcap, "_READER", ("/nonexistent",))


def test_a_capture_file_has_one_header_and_each_packet_with_its_times_and_lengths(tmp_path):
    """Magic of ns, version 2.4, the link type; then seconds, ns, captured and true length, and no byte too many."""
    path = tmp_path / "out.pcap"
    session = Session([LAYOUT, to_file(path)], quiet=True)
    session.poll(record(2), one(b"abcde", length=60), one(b"xyz"))
    session.report.close()
    data = path.read_bytes()
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    assert data[24:] == (struct.pack("<IIII", 1_700_000_000, 7, 5, 60) + b"abcde"
                         + struct.pack("<IIII", 1_700_000_000, 7, 3, 3) + b"xyz")  # fmt: skip


def test_lines_stay_out_of_a_capture_file(tmp_path):
    """Without -q the record's own line is shown where the output is text, not between packets."""
    path = tmp_path / "out.pcap"
    session = Session([(1, 48, (*to_file(path)[2], PACKET))])
    assert session.poll(one(b"abc")).split() == ["CPU", "ID", "FUNCTION:NAME", "0", "1", ":BEGIN"]
    session.report.close()
    assert path.read_bytes() == pcap.header(1) + pcap.packet(1_700_000_000_000_000_007, 3, b"abc")


def test_a_file_takes_packets_of_one_link_type(tmp_path):
    path = tmp_path / "out.pcap"
    session = Session([LAYOUT, to_file(path)], quiet=True)
    session.poll(record(2), one(b"abc"), one(b"def", link=12))
    session.report.close()
    assert path.stat().st_size == 24 + 16 + 3
    assert b"failed to save a packet of link type 12: the file has packets of link type 1" in session.errors.getvalue()


def test_what_is_printed_at_the_end_stays_out_of_a_capture_file(tmp_path):
    path = tmp_path / "out.pcap"
    session = Session([LAYOUT, to_file(path)], quiet=True)
    session.tracing.feed(record(2), one(b"abc"))
    assert session.finish() == "\n"
    session.report.close()
    assert path.stat().st_size == 24 + 16 + 3


def test_a_file_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "text"
    path.write_text("some text that is longer than a header")
    session = Session([LAYOUT, to_file(path)], quiet=True)
    session.poll(record(2), one(b"abc"))
    session.report.close()
    assert path.read_text() == "some text that is longer than a header"
    assert b"failed to save a packet: the file has something else in it" in session.errors.getvalue()


def test_an_emptied_file_gets_a_header_again(tmp_path):
    path = tmp_path / "out.pcap"
    session = Session([LAYOUT, to_file(path), (3, 16, (OtherAction("ftruncate", ()),))], quiet=True)
    session.poll(record(2), one(b"abc"), record(3), one(b"def"))
    session.report.close()
    assert path.read_bytes() == pcap.header(1) + pcap.packet(1_700_000_000_000_000_007, 3, b"def")


def test_a_capture_of_an_earlier_session_is_continued(tmp_path):
    path = tmp_path / "out.pcap"
    for data in (b"abc", b"def"):
        session = Session([LAYOUT, to_file(path)], quiet=True)
        session.poll(record(2), one(data))
        session.report.close()
    assert path.stat().st_size == 24 + 2 * (16 + 3)


def test_without_a_reader_bytes_are_shown(no_reader):
    session = Session([LAYOUT], quiet=True)
    assert session.poll(one(b"abc")) == (
        "\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n"
        f"         0: 61 62 63{' ' * 39}  abc\n"
    )


def test_a_reader_has_shown_all_when_the_session_ends(monkeypatch):
    """Here one that gives back what it reads: one header and all packets, on the report's own output."""
    monkeypatch.setattr(pcap, "_READER", ("/bin/cat",))
    session = Session([LAYOUT], quiet=True)
    session.tracing.feed(one(b"abc"), one(b"def"))
    shown = session.finish().encode("latin-1")
    time = 1_700_000_000_000_000_007
    assert shown.rstrip(b"\n") == pcap.header(1) + pcap.packet(time, 3, b"abc") + pcap.packet(time, 3, b"def")


def test_a_reader_that_ends_is_replaced_by_bytes(monkeypatch):
    monkeypatch.setattr(pcap, "_READER", ("/bin/true",))
    session = Session([LAYOUT], quiet=True)
    shown = ""
    for _ in range(1000):
        shown += session.poll(one(b"abc"))
        if shown:
            break
    assert "abc" in shown
