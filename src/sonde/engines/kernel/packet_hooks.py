"""Attaching programs to the packets of a network device: links of tcx and XDP, and filters of packet sockets."""

from __future__ import annotations

import errno
import socket
import struct

from sonde.bpf import programs
from sonde.engines.kernel import commands
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.programs import LoadedProgram
from sonde.model.errors import EngineError
from sonde.model.probe import SOCKET, TCX, XDP, XDP_GENERIC, XDP_NATIVE, Packet, Probe

_XDP_FLAGS_SKB_MODE, _XDP_FLAGS_DRV_MODE = 1 << 1, 1 << 2
"""include/uapi/linux/if_link.h."""

_XDP_FLAGS = {XDP_GENERIC: _XDP_FLAGS_SKB_MODE, XDP_NATIVE: _XDP_FLAGS_DRV_MODE, XDP: 0}

_SO_ATTACH_BPF = 50
_ETH_P_ALL = 3


def attach(program: LoadedProgram, firing: Packet) -> int:
    """A descriptor whose closing detaches. Raises OSError, or EngineError where there is no such device."""
    try:
        interface = socket.if_nametoindex(firing.device)
    except OSError:
        raise EngineError(f"cannot trace packets: there is no network device {firing.device}") from None
    if firing.hook == SOCKET:
        return _packet_socket(program.descriptor, firing)
    if firing.hook == TCX:
        side = programs.TCX_EGRESS if firing.is_egress else programs.TCX_INGRESS
        return commands.link_device(program.descriptor, interface, side)
    return commands.link_device(program.descriptor, interface, programs.ATTACH_XDP, _XDP_FLAGS[firing.hook])


def failure(probe: Probe, firing: Packet, error: OSError) -> EngineError:
    """What became of attaching to a device, in words."""
    what = f"cannot attach {probe}"
    beside = "" if firing.hook == XDP else "; leave -xxdp out to be beside it"
    if error.errno == errno.EBUSY and firing.hook in _XDP_FLAGS:
        return EngineError(f"{what}: another program is in XDP at {firing.device}{beside}")
    if error.errno == errno.EEXIST and firing.hook in _XDP_FLAGS:
        return EngineError(f"{what}: XDP is in use at {firing.device} in its other mode, native or generic")
    if error.errno == errno.EOPNOTSUPP and firing.hook == XDP_NATIVE:
        return EngineError(f"{what}: the driver of {firing.device} has no XDP; -xxdp=generic needs none")
    if error.errno in (errno.ERANGE, errno.EINVAL, errno.E2BIG) and firing.hook in (XDP_NATIVE, XDP):
        return EngineError(f"{what}: the driver of {firing.device} takes no XDP with this MTU; -xxdp=generic does")
    if error.errno == errno.EINVAL and firing.hook == TCX:
        return EngineError(f"{what}: this kernel has no tcx, which came with Linux 6.6")
    if error.errno == errno.ENODEV:
        return EngineError(f"{what}: there is no network device {firing.device}")
    # packet_create() wants the one, tcx_link_attach() and dev_xdp_attach_link() the other.
    network = "CAP_NET_RAW" if firing.hook == SOCKET else "CAP_NET_ADMIN"
    return explain(error, what, f"CAP_BPF, CAP_PERFMON and {network}")


def _packet_socket(program: int, firing: Packet) -> int:
    """A socket that has every packet looked at and keeps none. It gets no packet before it is bound."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as made:
        made.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_BPF, struct.pack("=i", program))
        made.bind((firing.device, _ETH_P_ALL))
        return made.detach()
