"""Packets with pseudonyms: no address of theirs is left, the same one is replaced by the same, and checksums are right
where they were right, by sums of our own."""

import random
import struct

import pytest
from support.packets.frames import FRAMES, ICMP, MACS, SOURCE4, SOURCE6, TARGET4, TARGET6, TCP, ethernet, ipv4, ipv6

from sonde.engines.fired import FiringThread, KeptPacket, RecordedFiring
from sonde.engines.firing_records import decode, encode
from sonde.model.probe import ETHERNET, RAW_IP, Packet, Probe
from sonde.recording.anonymity import Pseudonyms

ADDRESSES = (MACS[:6], MACS[6:], SOURCE4, TARGET4, SOURCE6, TARGET6)
PLACES = {1: 2, 6: 16, 17: 6, 58: 2}


def pseudonyms(link=ETHERNET):
    """What makes packets of one recording anonymous."""
    probe = Probe(1, "packet", "eth0", "ingress", "", Packet("eth0", False, link))
    made = Pseudonyms(("addresses",), (probe,))

    def change(data, place=0):
        fired = RecordedFiring(place, 1, 0, FiringThread(1, 1, b"a"), bytes(32), packet=KeptPacket(data, len(data)))
        return decode(made(encode(fired)))[0].packet

    return change


def added(data):
    total = sum(struct.unpack(f">{len(data + bytes(len(data) & 1)) // 2}H", data + bytes(len(data) & 1)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def right(payload, protocol, six):
    """A packet of IP whose checksums are right."""
    made = bytearray(ipv6(protocol, payload) if six else ipv4(protocol, payload))
    head = 40 if six else 20
    if not six:
        made[10:12] = bytes(2)
        made[10:12] = struct.pack(">H", ~added(made[:20]) & 0xFFFF)
    at = head + PLACES[protocol]
    made[at : at + 2] = bytes(2)
    made[at : at + 2] = struct.pack(">H", ~covered(made, protocol, six) & 0xFFFF)
    return bytes(made)


def covered(packet, protocol, six):
    """The sum that is 0xFFFF where the checksum above IP is right."""
    head, addresses = (40, packet[8:40]) if six else (20, packet[12:20])
    over = b"" if protocol == 1 else bytes(addresses) + struct.pack(">II", len(packet) - head, protocol)
    return added(over + bytes(packet[head:]))


@pytest.mark.parametrize("name", FRAMES)
def test_no_address_is_left_however_much_of_a_frame_was_kept(name):
    for size in range(len(FRAMES[name]) + 1):
        changed = pseudonyms()(FRAMES[name][:size]).data
        assert len(changed) == size
        assert not [each for each in ADDRESSES if each in changed and name != "no header"]


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("protocol", [1, 6, 17, 58])
def test_right_checksums_stay_right(protocol, six):
    chance = random.Random(protocol)
    change = pseudonyms()
    for size in range(40, 60):
        payload = bytearray(chance.randbytes(size))
        payload[0], payload[12] = 8, 0x50
        packet = right(bytes(payload), protocol, six)
        assert covered(packet, protocol, six) == 0xFFFF
        changed = change(ethernet(0x86DD if six else 0x800, packet)).data[14:]
        assert changed != packet
        assert covered(changed, protocol, six) == 0xFFFF
        assert six or added(changed[:20]) == 0xFFFF


def test_wrong_checksums_stay_wrong():
    packet = bytearray(right(TCP, 6, False))
    packet[20 + 16] ^= 0x55
    changed = pseudonyms()(ethernet(0x800, bytes(packet))).data[14:]
    assert covered(changed, 6, False) == covered(packet, 6, False) != 0xFFFF


def test_a_checksum_that_the_device_computes_begins_as_it_did():
    packet = bytearray(ipv4(6, TCP))
    start = added(packet[12:20] + struct.pack(">HH", 6, len(TCP)))
    packet[36:38] = struct.pack(">H", start)
    changed = pseudonyms()(ethernet(0x800, bytes(packet))).data[14:]
    assert struct.unpack(">H", changed[36:38])[0] == added(changed[12:20] + struct.pack(">HH", 6, len(TCP))) != start


def test_one_address_has_one_pseudonym_and_several_have_several():
    change = pseudonyms()
    there, back = (change(ethernet(0x800, packet)).data for packet in (ipv4(6, TCP), answer()))
    assert (there[26:30], there[30:34]) == (back[30:34], back[26:30])
    assert there[:6] == back[:6] != there[6:12]
    assert there[26:30] != there[30:34]


def answer():
    packet = ipv4(6, TCP)
    return packet[:12] + packet[16:20] + packet[12:16] + packet[20:]


def test_what_errors_quote_and_neighbours_ask_for_is_replaced():
    quoted = ethernet(0x800, ipv4(1, struct.pack(">BBHI", 3, 1, 0, 0) + ipv4(6, TCP)[:28]))
    asked = ethernet(0x86DD, ipv6(58, struct.pack(">BBHI", 135, 0, 0, 0) + TARGET6 + b"\1\1" + MACS[:6]))
    told = ethernet(0x806, struct.pack(">HHBBH", 1, 0x800, 6, 4, 1) + MACS[:6] + SOURCE4 + MACS[6:] + TARGET4)
    change = pseudonyms()
    for frame in (quoted, asked, told):
        assert not [each for each in ADDRESSES if each in change(frame).data]


def test_text_of_payloads_has_pseudonyms_too():
    frame = ethernet(
        0x800, right(struct.pack(">HHHH", 1, 2, 60, 0) + b"GET / HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n", 17, False)
    )
    changed = pseudonyms()(frame).data
    assert b"192.0.2.7" not in changed
    assert b"GET / HTTP/1.1\r\nHost: " in changed
    assert covered(changed[14:], 17, False) == 0xFFFF


def test_of_an_unknown_link_nothing_is_kept_but_the_length():
    assert pseudonyms("")(FRAMES["udp"]) == KeptPacket(b"", len(FRAMES["udp"]))
    assert pseudonyms(RAW_IP)(ipv4(1, ICMP)).data[12:16] != SOURCE4


def test_packets_of_other_probes_are_known_by_what_they_begin_with():
    change = pseudonyms()
    assert not [each for each in ADDRESSES if each in change(FRAMES["udp6"], 1).data]
    assert not [each for each in ADDRESSES if each in change(ipv4(1, ICMP), 1).data]
    assert change(b"\0" * 40, 1) == KeptPacket(b"", 40)
