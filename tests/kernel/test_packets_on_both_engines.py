"""A share of tools/packets_on_both_engines.py: both engines capture the same of the same packets."""

import pytest
from support.packets.network import network
from support.packets.replayed_packets import compare

COUNT = 1009


@pytest.fixture(scope="module")
def net():
    with network("pr") as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize(
    ("direction", "options"), [("ingress", ()), ("egress", ()), ("ingress", ("-xxdp=native",))], ids=str
)
def test_lengths_bytes_and_values_are_equal(net, tmp_path, direction, options):
    """At tcx the kernel drops frames that end behind a VLAN's tag, and so does the embedded engine."""
    seen, fed, different = compare(net, tmp_path, COUNT, 7, direction, *options)
    assert (seen, different) == (fed, [])
    assert COUNT - 20 < seen <= COUNT
