"""What only a recorded firing is asked (`bpf/helpers.py`)."""

from __future__ import annotations

from collections.abc import Callable
from errno import ENODATA

from sonde.runtime.environment import Environment

_U32 = 0xFFFF_FFFF


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    def firing_cpu() -> int:
        recorded = environment.recorded
        return recorded.cpu if recorded is not None else 0

    def firing_parent() -> int:
        recorded = environment.recorded
        found = recorded.parent() if recorded is not None else None
        return -ENODATA if found is None else found

    def firing_image() -> int:
        recorded = environment.recorded
        return recorded.image() if recorded is not None else environment.task.pid

    def firing_missed(value: int) -> int:
        recorded = environment.recorded
        return recorded is not None and recorded.has_missed(value)

    def firing_packet(size: int) -> int:
        size &= _U32
        if environment.recorded is not None:
            environment.recorded.look_at_packet(size)
        there: int = environment.packet.length if environment.packet is not None else 0
        return min(size, there)

    return {
        "firing_cpu": firing_cpu, "firing_parent": firing_parent, "firing_image": firing_image,
        "firing_missed": firing_missed, "firing_packet": firing_packet,
    }  # fmt: skip
