"""Bytes of the packet that the program looks at, out of all its pieces (net/core/filter.c)."""

from __future__ import annotations

from collections.abc import Callable
from errno import EFAULT, EINVAL

from sonde.runtime.environment import Environment

_MASK = 0xFFFF_FFFF
_LAST_SKB_OFFSET = (1 << 31) - 1
_LARGEST_XDP = 0xFFFF


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    view = environment.memory.view

    def copy(offset: int, destination: int, size: int) -> None:
        environment.packet.copy(view(destination, size, is_write=True), offset, size)

    def look(end: int) -> None:
        if environment.recorded is not None:
            environment.recorded.look_at_packet(end)

    def skb_load_bytes(context: int, offset: int, destination: int, size: int) -> int:
        offset, size = offset & _MASK, size & _MASK
        look(offset + size)
        if offset > _LAST_SKB_OFFSET or offset + size > environment.packet.length:
            environment.memory.write(destination, bytes(size))
            return -EFAULT
        copy(offset, destination, size)
        return 0

    def xdp_get_buff_len(context: int) -> int:
        length: int = environment.packet.length
        return length

    def xdp_load_bytes(context: int, offset: int, destination: int, size: int) -> int:
        offset, size = offset & _MASK, size & _MASK
        look(offset + size)
        if offset > _LARGEST_XDP or size > _LARGEST_XDP:
            return -EFAULT
        if offset + size > environment.packet.length:
            return -EINVAL
        copy(offset, destination, size)
        return 0

    def packet_length(context: int) -> int:
        return environment.packet_length

    def packet_cookie(context: int) -> int:
        return environment.cookie

    return {
        "skb_load_bytes": skb_load_bytes, "xdp_get_buff_len": xdp_get_buff_len, "xdp_load_bytes": xdp_load_bytes,
        "packet_length": packet_length, "packet_cookie": packet_cookie,
    }  # fmt: skip
