"""Maps read, written and replaced."""

import errno
import os
import struct
import threading

import pytest
from support.bpf.handwritten import raw_tracepoint, tracing_spec

from sonde.bpf import maps
from sonde.engines.kernel import commands
from sonde.engines.kernel.engine import KernelEngine
from sonde.machine.system import possible_cpus
from sonde.model.errors import EngineError
from sonde.model.probe import RawTracepoint
from sonde.model.spec import MapSpec


def key(number):
    return number.to_bytes(4, "little")


def value(number):
    return number.to_bytes(8, "little")


@pytest.fixture
def load():
    """Load map specs; what is loaded is closed after the test."""
    loaded = []

    def load(*map_specs, program_specs=()):
        loaded.append(KernelEngine().load(tracing_spec(*program_specs, map_specs=map_specs, rings=())))
        return loaded[-1]

    yield load
    for tracing in loaded:
        tracing.close()


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", [maps.HASH, maps.LRU_HASH])
@pytest.mark.parametrize("batches", [True, False])
def test_hash_maps_are_read_whole(load, kind, batches, monkeypatch):
    if not batches:
        monkeypatch.setattr(commands, "lookup_batch", unsupported)
    tracing = load(MapSpec("h", kind, 4, 8, 6007))
    assert tracing.read_map("h") == []
    for number in range(5003):
        tracing.write_map("h", key(number), value(number * number))
    tracing.write_map("h", key(4), value(17))
    expected = {key(number): value(number * number) for number in range(5003)} | {key(4): value(17)}
    found = tracing.read_map("h")
    assert len(found) == 5003
    assert dict(found) == expected


def unsupported(*_):
    raise OSError(errno.EINVAL, "Invalid argument")


def test_large_values_are_read_in_several_batches(load):
    tracing = load(MapSpec("h", maps.HASH, 4, 1 << 16, 211))
    for number in range(199):
        tracing.write_map("h", key(number), bytes([number]) * (1 << 16))
    found = dict(tracing.read_map("h"))
    assert len(found) == 199
    assert all(found[key(number)] == bytes([number]) * (1 << 16) for number in range(199))


@pytest.mark.parametrize("kind", [maps.PERCPU_HASH, maps.PERCPU_ARRAY])
@pytest.mark.parametrize("entries", [1, 7])
def test_per_cpu_values_are_padded(load, kind, entries):
    cpus = possible_cpus()
    tracing = load(MapSpec("p", kind, 4, 12, entries))
    tracing.write_map("p", key(0), b"twelve bytes")
    assert dict(tracing.read_map("p"))[key(0)] == b"twelve bytes\0\0\0\0" * cpus
    apart = b"".join(bytes([cpu]) * 16 for cpu in range(cpus))
    tracing.write_map("p", key(0), apart)
    read = dict(tracing.read_map("p"))[key(0)]
    assert [read[16 * cpu : 16 * cpu + 12] for cpu in range(cpus)] == [bytes([cpu]) * 12 for cpu in range(cpus)]


@pytest.mark.parametrize("entries", [1, 301])
def test_contents_are_there_from_the_beginning_and_frozen(load, entries):
    contents = tuple((key(n), value(n + 1)) for n in range(entries))
    tracing = load(MapSpec("a", maps.ARRAY, 4, 8, entries, maps.F_RDONLY_PROG, contents=contents, frozen=True))
    assert tuple(tracing.read_map("a")) == contents
    with pytest.raises(EngineError, match="cannot write map a: not permitted"):
        tracing.write_map("a", key(0), value(0))


def test_task_storage_gets_its_types(load):
    assert load(MapSpec("locals", maps.TASK_STORAGE, 4, 24, 0, maps.F_NO_PREALLOC, typed=True))


def test_a_map_the_kernel_refuses_is_named(load):
    with pytest.raises(EngineError, match=r"cannot create map odd: this kernel .* does not support it"):
        load(MapSpec("fine", maps.ARRAY, 4, 8, 1), MapSpec("odd", maps.ARRAY, 3, 8, 1))


COUNT_IN_INNER = """
    *(u32 *)(r10 -4) = 0
    r1 = map[totals]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
    r1 = map[outer]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r6 = r0
    r1 = r6
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 != 0 goto add
    *(u64 *)(r10 -16) = 0
    r1 = r6
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -16
    r4 = 1
    call bpf_map_update_elem
    r1 = r6
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
add:
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
out:
    r0 = 0
    exit
"""
"""totals[0] += 1; outer[0][0] += 1, both on this CPU."""


def total(pairs):
    return sum(sum(struct.unpack(f"={len(v) // 8}Q", v)) for _, v in pairs)


def test_replacing_a_map_loses_no_count(load):
    outer = MapSpec("outer", maps.ARRAY_OF_MAPS, 4, 4, 1, inner=MapSpec("inner", maps.PERCPU_HASH, 4, 8, 64))
    totals = MapSpec("totals", maps.PERCPU_ARRAY, 4, 8, 1)
    count = raw_tracepoint("count", COUNT_IN_INNER, [(RawTracepoint("sys_enter"), 0)])
    tracing = load(outer, totals, program_specs=[count])
    tracing.attach()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            for _ in range(100):
                os.getppid()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    sums = [total(tracing.replace_map("outer")) for _ in range(11)]
    stop.set()
    for worker in workers:
        worker.join()
    for attachment in tracing._attachments:
        os.close(attachment.descriptor)
    tracing._attachments.clear()
    # Which waits for programs that still run.
    sums.append(total(tracing.replace_map("outer")))
    assert total(tracing.read_map("totals")) > 1000
    assert sum(sums) + total(tracing.read_map("outer")) == total(tracing.read_map("totals"))


def test_only_arrays_of_maps_can_be_replaced(load):
    tracing = load(MapSpec("a", maps.ARRAY, 4, 8, 1))
    with pytest.raises(ValueError, match="a is not an array of maps"):
        tracing.replace_map("a")
