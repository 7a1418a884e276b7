"""Programs that write records in each of the ways there are, as text for the assembler.

Those for records are raw tracepoint programs, which write many in a loop and take the time themselves. Those for
packets are run by BPF_PROG_TEST_RUN, once for each packet, in XDP or as a classifier (SCHED_CLS).
"""

from __future__ import annotations

from typing import NamedTuple

RECORDS = 500
"""How many records one run of a loop writes."""

HEAD = 32
"""Bytes of the program's own before those of a packet."""

LARGEST_PACKET = 65400
"""With the head and what stands before it the most that a perf record takes is not exceeded."""

WAKE_ALWAYS, WAKE_NEVER = 2, 1
"""BPF_RB_FORCE_WAKEUP, BPF_RB_NO_WAKEUP."""

_LOOP = """
    r6 = r1
    call bpf_ktime_get_ns
    r8 = r0
    r7 = 0
again:
    {write}
next:
    r7 += 1
    if r7 < {records} goto again
    call bpf_ktime_get_ns
    r0 -= r8
    r1 = map[results][0]+0
    *(u64 *)(r1 +0) = r0
    r0 = 0
    exit
{full}
"""

_FULL = """
full:
    r1 = map[results][0]+0
    r2 = *(u64 *)(r1 +8)
    r2 += 1
    *(u64 *)(r1 +8) = r2
    goto next
"""

_RESERVE = """
    r1 = map[ring]
    r2 = {size}
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 == 0 goto full
    {fill}
    r1 = r0
    r2 = {flags}
    call bpf_ringbuf_submit
"""

_SCRATCH = """
    *(u32 *)(r10 -4) = 0
    r1 = map[scratch]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto full
    r9 = r0
"""

_COPY = """
    {fill}
    r1 = map[ring]
    r2 = r9
    r3 = {size}
    r4 = {flags}
    call bpf_ringbuf_output
    if r0 != 0 goto full
"""

_OUTPUT = """
    {fill}
    r1 = r6
    r2 = map[rings]
    r3 = 0xffffffff ll
    r4 = r9
    r5 = {size}
    call bpf_perf_event_output
    if r0 != 0 goto full
"""


_SLOT = """
    r1 = map[rings]
    r2 = {size}
    r3 = 0xffffffff ll
    call bpf_perf_event_reserve
    if r0 == 0 goto full
    {fill}
    r1 = r0
    r2 = 0
    call bpf_perf_event_commit
"""


def _fill(base: str, size: int) -> str:
    return "\n".join(f"*(u64 *)({base} +{offset}) = r7" for offset in range(0, size, 8))


def nothing() -> str:
    """The loop alone."""
    return _LOOP.format(write="", records=RECORDS, full="")


def reserve(size: int, flags: int = WAKE_NEVER) -> str:
    """Room in the BPF ring buffer, filled in place, submitted."""
    return _loop(_RESERVE.format(size=size, fill=_fill("r0", size), flags=flags))


def ringbuf_output(size: int, flags: int = WAKE_NEVER) -> str:
    """A per-CPU array's element, filled, and copied into the BPF ring buffer."""
    return _loop(_SCRATCH + _COPY.format(size=size, fill=_fill("r9", size), flags=flags))


def perf_output(size: int) -> str:
    """The same, copied into the CPU's perf ring."""
    return _loop(_SCRATCH + _OUTPUT.format(size=size, fill=_fill("r9", size)))


def perf_reserve(size: int) -> str:
    """Room in the perf ring, filled in place, committed: by helpers of the embedded engine."""
    return _loop(_SLOT.format(size=size, fill=_fill("r0", size)))


def timed_reserve(size: int) -> str:
    """A record whose first word is when it was written."""
    return _loop(_RESERVE.format(size=size, fill=_time("r0", 0), flags=WAKE_NEVER)
                 .replace("r1 = map[ring]", "call bpf_ktime_get_ns\nr9 = r0\nr1 = map[ring]"))  # fmt: skip


def timed_perf_output(size: int) -> str:
    """The same, as the image that sonde writes: u32 length, u32 0, and then the record."""
    time = f"call bpf_ktime_get_ns\n*(u64 *)(r9 +0) = {size}\n*(u64 *)(r9 +8) = r0"
    return _loop(_SCRATCH + _OUTPUT.format(size=size + 8, fill=time))


def _time(base: str, offset: int) -> str:
    return f"*(u64 *)({base} +{offset}) = r9"


def _loop(write: str) -> str:
    return _LOOP.format(write=write, records=RECORDS, full=_FULL)


class Hook(NamedTuple):
    """A kind of program for packets: how it finds the packet's length (into r7), reads the packet, lets it pass."""

    length: str
    load: str
    passed: int


XDP = Hook("r1 = r6\ncall bpf_xdp_get_buff_len\nr7 = r0", "bpf_xdp_load_bytes", 2)
CLASSIFIER = Hook("r7 = *(u32 *)(r6 +0)", "bpf_skb_load_bytes", 0)

_PACKET = """
    r6 = r1
    {length}
    if r7 s< 1 goto full
    if r7 s> {most} goto full
    {write}
done:
    r0 = {passed}
    exit
full:
    r1 = map[results][0]+0
    r2 = *(u64 *)(r1 +8)
    r2 += 1
    *(u64 *)(r1 +8) = r2
    r0 = {passed}
    exit
"""

_BUFFER = """
    call bpf_get_smp_processor_id
    *(u32 *)(r10 -4) = r0
    r1 = map[packets]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto full
    r9 = r0
"""

_LOAD = """
    r1 = r6
    r2 = 0
    r3 = {target}
    r3 += {head}
    r4 = r7
    call {load}
"""

_COPY_PACKET = """
    if r0 != 0 goto full
    r1 = map[ring]
    r2 = r9
    r3 = r7
    r3 += {head}
    r4 = 1
    call bpf_ringbuf_output
    if r0 != 0 goto full
"""

_OUTPUT_PACKET = """
    if r0 != 0 goto full
    r1 = r6
    r2 = map[rings]
    r3 = 0xffffffff ll
    r4 = r9
    r5 = r7
    r5 += {head}
    call bpf_perf_event_output
    if r0 != 0 goto full
"""

_RESERVE_PACKET = """
    r1 = map[ring]
    r2 = {room}
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 == 0 goto full
    r9 = r0
    {fill}
    {load}
    r8 = r0
    r1 = r9
    r2 = 1
    if r8 != 0 goto back
    call bpf_ringbuf_submit
    goto done
back:
    call bpf_ringbuf_discard
    goto full
"""

_APPEND = """
    {fill}
    r1 = r6
    r2 = map[rings]
    r3 = r7
    r3 <<= 32
    r4 = 0xffffffff ll
    r3 |= r4
    r4 = r10
    r4 += -{head}
    r5 = {head}
    call bpf_perf_event_output
    if r0 != 0 goto full
"""


def _packet(hook: Hook, write: str, most: int = LARGEST_PACKET) -> str:
    return _PACKET.format(length=hook.length, most=most, write=write, passed=hook.passed)


def _loaded(hook: Hook, target: str) -> str:
    return _LOAD.format(target=target, head=HEAD, load=hook.load)


def passing(hook: Hook) -> str:
    """The run alone."""
    return _packet(hook, "")


def load_and_copy(hook: Hook) -> str:
    """The packet into memory of the CPU's, then with the head into the BPF ring buffer: two copies, any length."""
    return _packet(hook, _BUFFER + _fill("r9", HEAD) + _loaded(hook, "r9") + _COPY_PACKET.format(head=HEAD))


def load_and_output(hook: Hook) -> str:
    """The same, into the CPU's perf ring."""
    return _packet(hook, _BUFFER + _fill("r9", HEAD) + _loaded(hook, "r9") + _OUTPUT_PACKET.format(head=HEAD))


def load_in_place(hook: Hook, most: int) -> str:
    """Room for the longest packet in the BPF ring buffer, and the packet copied there: one copy, and whatever the
    packet's length, as much of the ring as the longest takes."""
    write = _RESERVE_PACKET.format(room=HEAD + most, fill=_fill("r9", HEAD), load=_loaded(hook, "r9"))
    return _packet(hook, write, most)


def append(hook: Hook) -> str:
    """The head from the stack, the packet put behind it by the kernel: one copy."""
    return _packet(hook, _APPEND.format(fill=_head(), head=HEAD))


def _head() -> str:
    return "\n".join(f"*(u64 *)(r10 -{offset}) = r7" for offset in range(8, HEAD + 1, 8))
