"""Which network devices go away while they are watched."""

from __future__ import annotations

import socket
from collections.abc import Iterable

_RTMGRP_LINK = 1
"""Notifications about devices (include/uapi/linux/rtnetlink.h)."""

_LARGEST = 1 << 16


class DeviceWatch:
    """Devices of this network namespace, by name. What the kernel says of devices only wakes the reader: it may say
    more than fits, so the list of devices is looked at."""

    def __init__(self, names: Iterable[str]) -> None:
        """Raises OSError where the kernel tells nothing of devices."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        self._socket.bind((0, _RTMGRP_LINK))
        numbers = {name: number for number, name in socket.if_nameindex()}
        self._there = {name: numbers.get(name, 0) for name in names}

    @property
    def descriptor(self) -> int:
        """Readable when something has happened to any device."""
        return self._socket.fileno()

    @property
    def is_empty(self) -> bool:
        """Whether all devices have gone."""
        return not self._there

    def gone(self) -> list[str]:
        """Those that have gone since this was last asked."""
        if not self._has_news():
            return []
        numbers = {number for number, _ in socket.if_nameindex()}
        found = [name for name, number in self._there.items() if number not in numbers]
        for name in found:
            del self._there[name]
        return found

    def _has_news(self) -> bool:
        heard = False
        while True:
            try:
                self._socket.recv(_LARGEST)
            except BlockingIOError:
                return heard
            except OSError:
                # ENOBUFS: there was more than the socket had room for.
                return True
            heard = True

    def close(self) -> None:
        self._socket.close()
