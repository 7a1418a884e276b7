"""Packets of a file wait until there is room for all that they may record; only a record larger than its ring is lost,
and that is told."""

import re

import pytest
from support.command.unprivileged import sonde
from support.files import pcapng_reader as reader
from support.files.capture_files import Pcapng
from support.packets.frames import FRAMES

COUNT = 41
SIZE = 60_000
ONE = "packet:eth0:ingress: { capture(); }"
TWO = "packet:eth0:ingress: { capture(); } packet:eth0:ingress: { capture(); }"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    path = tmp_path_factory.mktemp("packets") / "given.pcapng"
    file = Pcapng().interface("eth0")
    for number in range(COUNT):
        file.packet((FRAMES["udp"] + bytes([number]) * SIZE)[: SIZE if number % 3 else 100], flags=1)
    path.write_bytes(file.data)
    return path


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("program", "size", "times"),
    [(TWO, "128k", 2), (ONE, "128k", 1), (ONE, "256k", 1), (TWO, "256k", 2)],
)
def test_no_packet_is_lost_that_a_ring_has_room_for(tmp_path, given, program, size, times):
    out = tmp_path / "out.pcapng"
    done = sonde("--packets", str(given), "-q", "-n", program, "-o", str(out), f"-xbufsize={size}")
    assert done.stderr == ""
    assert len(reader.packets(out.read_bytes())) == times * COUNT


def test_what_no_ring_has_room_for_is_told(tmp_path, given):
    """Of a large packet the second record, if both are too large together."""
    out = tmp_path / "out.pcapng"
    done = sonde("--packets", str(given), "-q", "-n", TWO, "-o", str(out), "-xbufsize=64k")
    large = sum(number % 3 != 0 for number in range(COUNT))
    assert len(reader.packets(out.read_bytes())) == 2 * COUNT - large
    assert sum(int(each) for each in re.findall(r"(\d+) drops?\b", done.stderr)) == large
