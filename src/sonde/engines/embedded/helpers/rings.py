"""The BPF ring buffer (kernel/bpf/ringbuf.c). A record's address tells its region and so its ring."""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.machine.memory import OFFSET_BITS
from sonde.engines.embedded.maps.ring_buffer import RingBuffer


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    maps, memory = environment.table.maps, environment.memory
    rings: dict[int, RingBuffer] = {}
    reserves: dict[int, Callable[[int], int]] = {}
    commits: dict[int, Callable[[int, int, bool], None]] = {}

    def ring_of(handle: int) -> RingBuffer:
        """The ring, remembered by its handle and its region."""
        ring = maps[handle]
        assert isinstance(ring, RingBuffer)
        rings[handle] = ring
        reserves[handle] = ring.reserve
        commits[ring.address >> OFFSET_BITS] = ring.commit
        return ring

    def ringbuf_reserve(handle: int, size: int, flags: int) -> int:
        if flags:
            return 0
        reserve = reserves.get(handle) or ring_of(handle).reserve
        return reserve(size)

    def ringbuf_submit(record: int, flags: int) -> int:
        commits[record >> OFFSET_BITS](record, flags, False)
        return 0

    def ringbuf_discard(record: int, flags: int) -> int:
        commits[record >> OFFSET_BITS](record, flags, True)
        return 0

    def ringbuf_output(handle: int, data: int, size: int, flags: int) -> int:
        return (rings.get(handle) or ring_of(handle)).output(memory.read(data, size), flags)

    def ringbuf_query(handle: int, flags: int) -> int:
        return (rings.get(handle) or ring_of(handle)).query(flags)

    return {
        "ringbuf_output": ringbuf_output,
        "ringbuf_reserve": ringbuf_reserve,
        "ringbuf_submit": ringbuf_submit,
        "ringbuf_discard": ringbuf_discard,
        "ringbuf_query": ringbuf_query,
    }
