"""The BPF ring buffer (kernel/bpf/ringbuf.c). A record's address tells its region and so its ring."""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import OFFSET_BITS, AccessError
from sonde.runtime.maps.ring_buffer import RingBuffer


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    table = environment.table
    reserves, outputs, queries = (table.calls(f"ringbuf_{name}") for name in ("reserve", "output", "query"))
    commits: dict[int, Callable[[int, int, bool], None]] = {}
    table.removing.append(lambda made: commits.clear())

    def commit_of(record: int) -> Callable[[int, int, bool], None]:
        region = record >> OFFSET_BITS
        for made in table.maps.values():
            if isinstance(made, RingBuffer) and made.address >> OFFSET_BITS == region:
                commits[region] = made.commit
                return made.commit
        raise AccessError(record, 0)

    def ringbuf_submit(record: int, flags: int) -> int:
        (commits.get(record >> OFFSET_BITS) or commit_of(record))(record, flags, False)
        return 0

    def ringbuf_discard(record: int, flags: int) -> int:
        (commits.get(record >> OFFSET_BITS) or commit_of(record))(record, flags, True)
        return 0

    return {
        "ringbuf_reserve": lambda handle, size, flags: reserves[handle](size, flags),
        "ringbuf_submit": ringbuf_submit,
        "ringbuf_discard": ringbuf_discard,
        "ringbuf_output": lambda handle, data, size, flags: outputs[handle](data, size, flags),
        "ringbuf_query": lambda handle, flags: queries[handle](flags),
    }
