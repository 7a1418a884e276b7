"""Packets of files that begin as those of all devices of Linux together do, or of loopback devices of BSD."""

import struct
import subprocess
import sys

import pytest

FOUR = bytes.fromhex("4500001c000040004011000001020304050607080035003500080000")
SIX = bytes.fromhex("6000000000083a40") + bytes(15) + b"\1" + bytes(15) + b"\2" + bytes(8)
TYPES = {FOUR: 0x0800, SIX: 0x86DD}


def cooked(packet, kind):
    return struct.pack(">HHH8sH", kind, 1, 6, bytes(8), TYPES[packet]) + packet


def cooked_2(packet, kind):
    return struct.pack(">HHIHBB8s", TYPES[packet], 0, 3, 1, kind, 6, bytes(8)) + packet


def tagged(packet, kind):
    return struct.pack(">HHH8sHHH", kind, 1, 6, bytes(8), 0x8100, 7, TYPES[packet]) + packet


def loopback(order):
    return lambda packet, kind: struct.pack(order + "I", 2 if packet == FOUR else 24) + packet


FORMS = {
    "sll": (113, cooked), "sll2": (276, cooked_2), "tagged": (113, tagged), "null": (0, loopback("<")),
    "loop": (108, loopback(">")),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_their_headers_are_found(tmp_path, form):
    link, made = FORMS[form]
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for number, packet in enumerate((FOUR, SIX, FOUR)):
        whole = made(packet, 4 if number == 2 else 0)
        data += struct.pack("<IIII", 10, number, len(whole), len(whole)) + whole
    path = tmp_path / "file.pcap"
    path.write_bytes(data)
    fields = "args[0]->ip_saddr, args[0]->ip_daddr, args[0]->ip_ver, args[0]->ip_plength"
    script = f'packet::: {{ printf("%s %s %s %d %d\\n", probefunc, {fields}); }}'
    words = [sys.executable, "-m", "sonde", "--replay", path, "-qn", script]
    done = subprocess.run(words, capture_output=True, text=True)
    assert not done.stderr
    last = "egress" if link in (113, 276) else "ingress"
    assert done.stdout.rstrip().splitlines() == [
        "ingress 1.2.3.4 5.6.7.8 4 8", "ingress ::1 ::2 6 8", f"{last} 1.2.3.4 5.6.7.8 4 8",
    ]  # fmt: skip
