"""Ring buffers under load: nothing torn, nothing lost without being counted."""

import os
import struct
import threading
import time
from itertools import pairwise

import pytest
from support.bpf.handwritten import RING, program, raw_tracepoint, tracing_spec

from sonde.bpf import maps, programs
from sonde.engines.kernel.engine import KernelEngine
from sonde.model.probe import Internal, RawTracepoint
from sonde.model.spec import MapSpec

STATE = MapSpec("state", maps.PERCPU_ARRAY, 4, 16, 1)
SMALL_RING = MapSpec("ring", maps.RINGBUF, 0, 0, 1 << 14)

NUMBERED_RECORDS = """
    *(u32 *)(r10 -4) = 0
    r1 = map[state]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r7 = r0
    r8 = *(u64 *)(r7 +0)
    r8 += 1
    *(u64 *)(r7 +0) = r8
    r1 = map[ring]
    r2 = 24
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 != 0 goto fill
    r1 = *(u64 *)(r7 +8)
    r1 += 1
    *(u64 *)(r7 +8) = r1
    goto out
fill:
    r6 = r0
    *(u64 *)(r6 +0) = r8
    call bpf_get_smp_processor_id
    *(u64 *)(r6 +8) = r0
    r8 ^= -1
    *(u64 *)(r6 +16) = r8
    r1 = r6
    r2 = 0
    call bpf_ringbuf_submit
out:
    r0 = 0
    exit
"""
"""A record {number, cpu, ~number} for every firing; state[0] = {firings, lost} per CPU."""

RECORD = struct.Struct("=IIQQQ")


def drain(ring, numbers):
    """Check and take what is in the ring; `numbers` are those seen so far by CPU."""
    view = ring.read()
    for length, _, number, cpu, inverse in RECORD.iter_unpack(view):
        assert length == 24
        assert number ^ inverse == (1 << 64) - 1
        numbers.setdefault(cpu, []).append(number)
    size = len(view)
    view.release()
    ring.advance(size)
    return size


def firings_and_losses(tracing):
    ((_, value),) = tracing.read_map("state")
    words = struct.unpack(f"={len(value) // 8}Q", value)
    return sum(words[0::2]), sum(words[1::2])


@pytest.mark.long
def test_records_survive_wrapping_and_load():
    spec = tracing_spec(
        raw_tracepoint("load", NUMBERED_RECORDS, [(RawTracepoint("sys_enter"), 0)]), map_specs=(STATE, SMALL_RING)
    )
    tracing = KernelEngine().load(spec)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            for _ in range(100):
                os.getppid()

    workers = [threading.Thread(target=work) for _ in range(3)]
    numbers, taken, (ring,) = {}, 0, tracing.rings
    try:
        tracing.attach()
        for worker in workers:
            worker.start()
        end = time.monotonic() + 20
        while taken <= 20 * SMALL_RING.max_entries and time.monotonic() < end:
            tracing.wait(0.1)
            taken += drain(ring, numbers)
        stop.set()
        for worker in workers:
            worker.join()
        for attachment in tracing._attachments:
            os.close(attachment.descriptor)
        tracing._attachments.clear()
        time.sleep(0.05)
        taken += drain(ring, numbers)
        firings, lost = firings_and_losses(tracing)
    finally:
        stop.set()
        tracing.close()
    assert taken > 20 * SMALL_RING.max_entries
    assert sum(map(len, numbers.values())) + lost == firings
    for seen in numbers.values():
        assert all(a < b for a, b in pairwise(seen))


def test_a_full_ring_loses_the_newest_and_says_so():
    spec = tracing_spec(
        raw_tracepoint("begin", NUMBERED_RECORDS, [(Internal("BEGIN"), 0)]), map_specs=(STATE, SMALL_RING)
    )
    tracing = KernelEngine().load(spec)
    try:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        for _ in range(600):
            tracing.run("begin")
        numbers = {}
        assert drain(tracing.rings[0], numbers) == 511 * RECORD.size
        assert firings_and_losses(tracing) == (600, 89)
        tracing.run("begin")
        assert drain(tracing.rings[0], numbers) == RECORD.size
        assert [seen[-1] for seen in numbers.values()] == [601]
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
        tracing.close()


def test_waiting_ends_with_data_time_descriptors_and_signals():
    tracing = KernelEngine().load(
        tracing_spec(raw_tracepoint("begin", NUMBERED_RECORDS, [(Internal("BEGIN"), 0)]), map_specs=(STATE, RING))
    )
    reader, writer = os.pipe()
    try:
        begin = time.monotonic()
        assert tracing.wait(0.05) == []
        assert time.monotonic() - begin >= 0.05
        tracing.run("begin")
        assert tracing.wait(3600, [reader]) == []
        os.write(writer, b"x")
        assert tracing.wait(10, [reader]) == [reader]
        drain(tracing.rings[0], {})
        assert tracing.wait(None, [reader]) == [reader]
    finally:
        os.close(reader)
        os.close(writer)
        tracing.close()


def test_a_signal_ends_waiting():
    import signal

    tracing = KernelEngine().load(tracing_spec(map_specs=(RING,)))
    previous = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        assert tracing.wait(3600) == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        tracing.close()


def test_one_ring_for_each_cpu():
    rings = MapSpec("rings", maps.ARRAY_OF_MAPS, 4, 4, 4, inner=MapSpec("ring", maps.RINGBUF, 0, 0, 4096))
    text = """
        *(u32 *)(r10 -4) = 2
        r1 = map[rings]
        r2 = r10
        r2 += -4
        call bpf_map_lookup_elem
        if r0 == 0 goto out
        r1 = r0
        *(u64 *)(r10 -16) = 77
        r2 = r10
        r2 += -16
        r3 = 8
        r4 = 0
        call bpf_ringbuf_output
    out:
        r0 = 0
        exit
    """
    begin = program("begin", programs.RAW_TRACEPOINT, text, [(Internal("BEGIN"), 0)])
    tracing = KernelEngine().load(tracing_spec(begin, map_specs=(rings,), rings=("rings",)))
    try:
        tracing.run("begin")
        assert [len(ring.read()) for ring in tracing.rings] == [0, 0, 16, 0]
        assert bytes(tracing.rings[2].read()[8:]) == (77).to_bytes(8, "little")
    finally:
        tracing.close()
