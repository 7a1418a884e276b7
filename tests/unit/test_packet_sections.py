"""Sections of programs for packets, and the places that whoever runs them names."""

import pytest

from sonde.bpf import programs
from sonde.model.probe import SOCKET, TCX, XDP, XDP_GENERIC, XDP_NATIVE, Packet
from sonde.objects.errors import ObjectError
from sonde.objects.packet_sections import SECTIONS, firing, packet_section, shown


@pytest.mark.parametrize(
    ("section", "place", "mode", "expected"),
    [
        ("xdp", "eth0", "", Packet("eth0", False, "", XDP)),
        ("xdp.frags", "eth0", "native", Packet("eth0", False, "", XDP_NATIVE)),
        ("xdp", "eth0/ingress", "generic", Packet("eth0", False, "", XDP_GENERIC)),
        ("tc", "eth0", "generic", Packet("eth0", False, "", TCX)),
        ("tc", "eth0/egress", "", Packet("eth0", True, "", TCX)),
        ("classifier", "eth0/ingress", "", Packet("eth0", False, "", TCX)),
        ("tcx/egress", "eth0", "", Packet("eth0", True, "", TCX)),
        ("tc/ingress", "eth0/ingress", "", Packet("eth0", False, "", TCX)),
        ("socket", "eth0", "", Packet("eth0", False, "", SOCKET)),
    ],
)
def test_a_place_is_a_device_and_a_direction_where_the_section_has_none(section, place, mode, expected):
    assert firing(packet_section(section), section, place, mode) == expected


@pytest.mark.parametrize(
    ("section", "place", "text"),
    [
        ("tc", "", "a device is wanted"),
        ("tc", "/egress", "a device is wanted"),
        ("tc", "eth0/both", "a device is wanted"),
        ("tc", "eth0/", "a device is wanted"),
        ("xdp", "eth0/egress", "get packets of ingress alone"),
        ("tcx/egress", "eth0/ingress", "get packets of egress alone"),
        ("socket", "eth0/ingress", "gets packets of both directions"),
    ],
)
def test_other_places_are_refused(section, place, text):
    with pytest.raises(ObjectError, match=text):
        firing(packet_section(section), section, place)


def test_every_section_has_a_type_that_packets_are_given_to():
    assert {each.kind for each in SECTIONS.values()} == set(programs.FOR_PACKETS)
    assert packet_section("xdp/devmap") is None
    assert packet_section("tracepoint") is None


def test_what_fires_is_told_with_directions_but_of_sockets():
    places = [Packet("lo", False, "", TCX), Packet("eth0", True, "", TCX)]
    assert shown("tc", places) == "tc at lo/ingress, eth0/egress"
    assert shown("socket", [Packet("lo", False, "", SOCKET)]) == "socket at lo"
    assert shown("tc", []) == "tc"
