"""Programs that packets are given to: XDP, tc and tcx, and filters of packet sockets. Their sections say where in the
kernel, and of tcx the direction; the device is a choice of who runs them."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import programs
from sonde.model.probe import SOCKET, TCX, XDP, XDP_GENERIC, XDP_NATIVE, Packet
from sonde.objects.errors import ObjectError
from sonde.typed import NamedTuple

_INGRESS, _EGRESS = "ingress", "egress"
_MODES = {"native": XDP_NATIVE, "generic": XDP_GENERIC, "": XDP}


class PacketSection(NamedTuple):
    """What the beginning of a section's name says: how its programs are loaded, where they meet packets, and which,
    "" if that is not said."""

    kind: int
    attach_type: int
    hook: str
    direction: str = ""
    flags: int = 0


_XDP = PacketSection(programs.XDP, programs.ATTACH_XDP, XDP, _INGRESS)
_TC = PacketSection(programs.SCHED_CLS, programs.ATTACH_NONE, TCX)

SECTIONS = {
    "xdp": _XDP,
    "xdp.frags": _XDP._replace(flags=programs.F_XDP_HAS_FRAGS),
    "tc": _TC,
    "tc/ingress": _TC._replace(direction=_INGRESS),
    "tc/egress": _TC._replace(direction=_EGRESS),
    "tcx/ingress": _TC._replace(direction=_INGRESS),
    "tcx/egress": _TC._replace(direction=_EGRESS),
    "classifier": _TC,
    "classifier/ingress": _TC._replace(direction=_INGRESS),
    "classifier/egress": _TC._replace(direction=_EGRESS),
    "socket": PacketSection(programs.SOCKET_FILTER, programs.ATTACH_NONE, SOCKET),
}
"""By the whole names of sections, as libbpf has them, and older ones with the direction behind the slash."""


def packet_section(name: str) -> PacketSection | None:
    """What the section of that name says, None where its programs are not for packets."""
    return SECTIONS.get(name)


def firing(section: PacketSection, name: str, place: str, mode: str = "") -> Packet:
    """What fires the programs of the section `name` at a place, DEVICE or DEVICE/DIRECTION: of a direction that is
    named nowhere those that arrive, for a socket all. `mode` is `native` or `generic` where XDP has to be met so.
    Raises ObjectError."""
    device, slash, direction = place.partition("/")
    if not device or (slash and direction not in (_INGRESS, _EGRESS)):
        raise ObjectError(f"{place}: a device is wanted, and maybe a direction", "write lo, lo/ingress or lo/egress")
    if slash and section.direction not in ("", direction):
        raise ObjectError(f"{place}: programs of the section {name} get packets of {section.direction} alone")
    if slash and section.hook == SOCKET:
        raise ObjectError(f"{place}: a packet socket gets packets of both directions", f"write {device}")
    hook = _MODES[mode] if section.hook == XDP else section.hook
    return Packet(device, (direction or section.direction) == _EGRESS, "", hook)


def shown(name: str, found: Sequence[Packet]) -> str:
    """What fires such programs, for people."""
    ways = {True: _EGRESS, False: _INGRESS}
    places = (each.device if each.hook == SOCKET else f"{each.device}/{ways[each.is_egress]}" for each in found)
    return f"{name} at {', '.join(places)}" if found else name
