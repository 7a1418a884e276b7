"""Addresses of sockets as text."""

from __future__ import annotations

import socket
import struct

from sonde.notation.numbers import number_text
from sonde.notation.quoting import quoted

_LEAST = 2
_CONTROL = struct.Struct("<Qii")
"""cmsg_len, cmsg_level, cmsg_type."""
_SCM_CREDENTIALS = 2


def socket_address(data: bytes) -> str:
    """A struct sockaddr of as many bytes as the call was given, or as many of them as there are."""
    if len(data) < _LEAST:
        return quoted(data)
    (family,) = struct.unpack_from("<H", data)
    name = number_text("af", family).decode()
    shown = _FAMILIES.get(family, _other)(data)
    return f"{{sa_family={name}{', ' if shown else ''}{shown}}}"


def _internet(data: bytes) -> str:
    if len(data) < 8:
        return _other(data)
    (port,) = struct.unpack_from(">H", data, 2)
    return f'sin_port=htons({port}), sin_addr=inet_addr("{socket.inet_ntoa(data[4:8])}")'


def _internet6(data: bytes) -> str:
    if len(data) < 24:
        return _other(data)
    port, flow = struct.unpack_from(">HI", data, 2)
    text = socket.inet_ntop(socket.AF_INET6, data[8:24])
    shown = f'sin6_port=htons({port}), sin6_flowinfo=htonl({flow}), inet_pton(AF_INET6, "{text}", &sin6_addr)'
    return shown + (f", sin6_scope_id={struct.unpack_from('<I', data, 24)[0]}" if len(data) >= 28 else "")


def _unix(data: bytes) -> str:
    """A path, or behind a NUL an abstract name, which is as long as the address says."""
    path = data[2:110]
    if not path:
        return ""
    if path[0]:
        return f"sun_path={quoted(path.partition(bytes(1))[0])}"
    return f"sun_path=@{quoted(path[1:].rstrip(bytes(1)))}"


def _netlink(data: bytes) -> str:
    if len(data) < 12:
        return _other(data)
    number, groups = struct.unpack_from("<iI", data, 4)
    return f"nl_pid={number}, nl_groups={groups:#08x}".replace("=0x000000", "=00000000")


def control_messages(data: bytes) -> list[str]:
    """Each struct cmsghdr, as it is sent beside a message; what is cut is left out."""
    shown = []
    at = 0
    while at + _CONTROL.size <= len(data):
        length, level, kind = _CONTROL.unpack_from(data, at)
        if length < _CONTROL.size:
            break
        content = data[at + _CONTROL.size : at + length]
        name = number_text("cmsg" if level == socket.SOL_SOCKET else "int", kind).decode()
        shown.append(
            f"{{cmsg_len={length}, cmsg_level={number_text('sol', level).decode()}, cmsg_type={name}"
            f"{_control_data(level, kind, content)}}}"
        )
        at += -(-length // 8) * 8
    return shown


def _control_data(level: int, kind: int, content: bytes) -> str:
    if not content:
        return ""
    if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
        descriptors = struct.unpack_from(f"<{len(content) // 4}i", content)
        return f", cmsg_data=[{', '.join(map(str, descriptors))}]"
    if (level, kind) == (socket.SOL_SOCKET, _SCM_CREDENTIALS) and len(content) >= 12:
        process, user, group = struct.unpack_from("<iII", content)
        return f", cmsg_data={{pid={process}, uid={user}, gid={group}}}"
    return f", cmsg_data={quoted(content[:32], len(content) > 32)}"


def _other(data: bytes) -> str:
    return f"sa_data={quoted(data[2:])}" if data[2:] else ""


_FAMILIES = {socket.AF_UNIX: _unix, socket.AF_INET: _internet, socket.AF_INET6: _internet6, socket.AF_NETLINK: _netlink}
