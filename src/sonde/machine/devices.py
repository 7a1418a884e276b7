"""What this machine knows about its network devices."""

from __future__ import annotations

import fcntl
import socket
import struct

ETHERNET, RAW_IP, INFINIBAND, USER = 1, 101, 247, 147
"""Link types (https://www.tcpdump.org/linktypes.html); USER is what nothing is said about."""

_LINK_TYPES = {1: ETHERNET, 32: INFINIBAND, 772: ETHERNET} | dict.fromkeys(
    (512, 519, 65534, 768, 769, 776, 778, 823), RAW_IP
)
"""By ARPHRD_* (include/uapi/linux/if_arp.h): the loopback device has an Ethernet header as well, and what tunnels and
devices without a header (tun, WireGuard) show begins with that of IP."""


_SIOCGIFHWADDR = 0x8927
_REQUEST = struct.Struct("=16sH22x")
"""struct ifreq (include/uapi/linux/if.h) with a name and the family of a hardware address, which is the device's
ARPHRD_*."""


def link_type(device: str) -> int:
    """What a packet of a device of this network namespace begins with; ETHERNET where it is not there any more."""

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            found = fcntl.ioctl(any_socket, _SIOCGIFHWADDR, _REQUEST.pack(device.encode(errors="surrogateescape"), 0))
        except OSError:
            return ETHERNET
    return _LINK_TYPES.get(_REQUEST.unpack(found)[1], USER)
