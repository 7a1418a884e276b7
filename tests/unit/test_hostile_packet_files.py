"""Damaged files of packets: one message each, no traceback, no hang, and no packet that is not there.

SONDE_EXAMPLES=2000 changes as many of them, always in the same way.
"""

import random
import struct
import time

import pytest
from support.files.capture_files import Pcapng, pcap
from support.files.damage import changed_at
from support.packets.frames import FRAMES
from support.suite.example_counts import count_of

from sonde.cli.main import main
from sonde.formats.captured_file import LARGEST_PACKET, CapturedInterface, CaptureError
from sonde.formats.packet_file import devices, records

pytestmark = pytest.mark.examples

SECONDS = 5
_INTERESTING = (0, 1, 3, 4, 11, 12, 13, 0x7F, 0xFF, 0x8000, 0xFFFF, 1 << 24, 1 << 31, (1 << 32) - 1)
_WORDS = [struct.pack(f"{order}I", each) for order in "<>" for each in _INTERESTING]


def files():
    """Whole files of each kind, of a few hundred bytes."""
    found = []
    for order in ("<", ">"):
        file = Pcapng(order, "writer").interface("eth0", resolution=9, offset=3).interface("", 101, 96).other()
        for number, frame in enumerate(list(FRAMES.values())[:4]):
            file.packet(frame, number % 2, 10**18 + number, 2000, number).simple(frame)
        found.append(file.data + Pcapng("<").interface("eth0", 113).packet(b"x" * 300).data)
        found.append(pcap([(7, number, frame, 2000) for number, frame in enumerate(FRAMES.values())], order))
    return found


def damaged(chance, whole):
    """The file, changed in one to four places."""
    data = bytearray(whole)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(data) - 4) if len(data) > 8 else 0
        changed_at(data, at, chance.choice((1, 4)), _WORDS, chance)
    return bytes(data)


def cases(count, seed):
    chance, whole = random.Random(seed), files()
    for number in range(count):
        yield damaged(chance, whole[number % len(whole)])


def test_readers_end_with_packets_or_one_error(tmp_path):
    """A packet is no longer than its file, and of an interface that was told before."""
    path = tmp_path / "file"
    refused = 0
    for data in cases(count_of(400), 1):
        path.write_bytes(data)
        begun, known, size = time.process_time(), 0, 0
        try:
            for each in records(str(path)):
                if isinstance(each, CapturedInterface):
                    known += 1
                else:
                    assert each.interface < known
                    assert len(each.data) <= min(each.length, LARGEST_PACKET)
                    size += len(each.data)
            devices(str(path))
        except CaptureError as error:
            refused += bool(error.text)
            begun = begun if 0 <= error.at <= len(data) else 0
        assert size <= len(data)
        assert time.process_time() - begun < SECONDS
    assert refused > 50


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_the_command_ends_with_one_message_or_none(tmp_path, capfd, seed):
    path = tmp_path / "file"
    text = 'packet:::{ @[probefunc, args[0]->ip_protocol] = sum(pktlen); printf("%s\\n", args[0]->ip_saddr); }'
    told = 0
    for data in cases(count_of(24) // 2, 100 + seed):
        path.write_bytes(data)
        begun = time.process_time()
        status = main(["sonde", "--packets", str(path), "-qn", text])
        errors = capfd.readouterr().err
        assert "Traceback" not in errors
        assert time.process_time() - begun < SECONDS
        assert errors.count("sonde: ") == (status != 0), errors
        assert status in (0, 1)
        told += status
    assert told > count_of(24) // 8
