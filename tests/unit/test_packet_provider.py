"""The packet provider: two probes a device, by patterns and by number, and what fires them."""

import pytest

from sonde.machine import devices
from sonde.model.probe import ETHERNET, RAW_IP, Packet
from sonde.providers import packet
from sonde.providers.packet import PacketProvider
from sonde.providers.pattern import Pattern
from sonde.providers.provider import PACKET

DEVICES = {"lo": 1, "eth0": 2, "eth0.100": 7, "wg0": 12, "vethABC": 100_001}
"""The last one's number is as many devices later as there are identifiers: they share theirs with `lo`."""


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setattr(packet.socket, "if_nameindex", lambda: [(number, name) for name, number in DEVICES.items()])
    links = {"wg0": devices.RAW_IP, "vethABC": devices.USER}
    monkeypatch.setattr(packet, "link_type", lambda name: links.get(name, devices.ETHERNET))


def matched(*fields):
    return [(probe.module, probe.function) for probe in PacketProvider().match(Pattern("packet", *fields))]


def test_each_device_has_two_probes():
    assert len(matched()) == 2 * len(DEVICES)
    assert matched("eth0") == [("eth0", "ingress"), ("eth0", "egress")]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (("eth*", "ingress"), {"eth0", "eth0.100"}),
        (("eth?", "ingress", ""), {"eth0"}),
        (("*", "in*"), set(DEVICES)),
        (("eth1", "ingress"), set()),
        (("eth0", "forward"), set()),
        (("eth0", "ingress", "name"), set()),
    ],
)
def test_patterns(fields, names):
    assert {module for module, _ in matched(*fields)} == names


def test_identifiers_are_those_of_the_block_and_lead_back():
    provider = PacketProvider()
    probes = provider.match(Pattern("packet"))
    assert len({probe.id for probe in probes}) == len(probes)
    assert all(PACKET.first <= probe.id <= PACKET.last for probe in probes)
    assert [provider.by_id(probe.id) for probe in probes] == list(probes)
    assert provider.by_id(PACKET.first) is None


def test_a_device_keeps_its_identifiers_when_others_come_and_go(monkeypatch):
    (before,) = PacketProvider().match(Pattern("packet", "eth0", "egress"))
    monkeypatch.setattr(packet.socket, "if_nameindex", lambda: [(2, "eth0"), (3, "new")])
    assert PacketProvider().match(Pattern("packet", "eth0", "egress")) == [before]


@pytest.mark.parametrize(
    ("name", "link", "number"), [("eth0", ETHERNET, 1), ("wg0", RAW_IP, 101), ("vethABC", "", 147)]
)
def test_what_packets_begin_with(name, link, number):
    ingress, egress = PacketProvider().match(Pattern("packet", name))
    assert (ingress.firing, egress.firing) == tuple(
        Packet(name, is_egress, link, link_type=number) for is_egress in (False, True)
    )


def test_devices_of_a_file_stand_for_those_of_the_machine():
    provider = PacketProvider([("eth7", 1), ("old0", 12), ("cooked0", 276), ("four0", 228)])
    found = [(probe.module, probe.firing.link) for probe in provider.match(Pattern("packet", "", "egress"))]
    assert found == [("eth7", ETHERNET), ("old0", RAW_IP), ("cooked0", "sll2"), ("four0", RAW_IP)]
