"""Maps of the embedded engine against the kernel's own: what is refused, what operations return, what is left."""

import errno
import os
import struct
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.suite.example_counts import count_of

from sonde.bpf import maps
from sonde.engines.kernel import commands
from sonde.engines.kernel import maps as kernel_maps
from sonde.engines.kernel.syscalls import address_of, bpf
from sonde.machine.system import possible_cpus
from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import MapTable
from sonde.runtime.maps.creation import create
from sonde.runtime.maps.limits import check

pytestmark = pytest.mark.examples

LOOKUP, DELETE, LOOKUP_AND_DELETE = 1, 3, 21
EXAMPLES = count_of(40)

MEMORY = MachineMemory()

HASHES = [maps.HASH, maps.PERCPU_HASH]
ROOMY = [maps.LRU_HASH, maps.LRU_PERCPU_HASH]
ARRAYS = [maps.ARRAY, maps.PERCPU_ARRAY]


def result_of(function, *arguments):
    """0 or -errno."""
    try:
        function(*arguments)
    except OSError as error:
        return -error.errno
    return 0


def delete_element(descriptor, key):
    data = bytearray(key)
    attributes = bytearray(32)
    struct.pack_into("=I4xQ", attributes, 0, descriptor, address_of(data))
    bpf(DELETE, attributes)


@contextmanager
def pair(spec):
    """The kernel's map and the embedded engine's."""
    table = MapTable()
    kernel = kernel_maps.create(spec, possible_cpus())
    try:
        yield kernel, create(spec, MEMORY, table)
    finally:
        kernel.close()
        table.close()


def removed(embedded, key):
    """The result of bpf_map_delete_elem, by which programs delete."""
    return embedded.calls["map_delete_elem"](MEMORY.add(bytearray(key)))


def first_cpu(spec, elements):
    return sorted((key, value[: spec.value_size]) for key, value in elements)


KEYS = st.integers(0, 5).map(lambda n: struct.pack("=I", n))
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("update"), KEYS, st.binary(min_size=12, max_size=12), st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 8])
        ),
        st.tuples(st.just("delete"), KEYS),
    ),
    max_size=30,
)


@pytest.mark.share(7)
@pytest.mark.parametrize("flags", [0, maps.F_NO_PREALLOC])
@pytest.mark.parametrize("kind", [*HASHES, *ROOMY, *ARRAYS])
@given(steps=STEPS)
@settings(max_examples=EXAMPLES)
def test_operations_have_the_kernels_results(kind, flags, steps):
    # What an LRU map forgets is not the same; with room for all keys it forgets nothing.
    spec = MapSpec("a_map", kind, 4, 12, 200 if kind in ROOMY else 4, 0 if kind in ARRAYS + ROOMY else flags)
    with pair(spec) as (kernel, embedded):
        for name, key, *others in steps:
            if name == "update":
                value, how = others
                padded = kernel._padded(value)
                expected = result_of(commands.update_element, kernel.descriptor, key, padded, how)
                assert embedded.update(key, value, how) == expected
            else:
                assert removed(embedded, key) == result_of(delete_element, kernel.descriptor, key)
        assert first_cpu(spec, embedded.items()) == first_cpu(spec, kernel.read())


TAKEN = st.sampled_from(["pop", "peek"]).map(lambda name: (name,))
PUSHED = st.tuples(st.just("push"), st.binary(min_size=8, max_size=8), st.sampled_from([0, 0, 1, 2, 3, 4, 8]))


def taken_element(command, descriptor):
    """The result and the value of BPF_MAP_LOOKUP_ELEM or BPF_MAP_LOOKUP_AND_DELETE_ELEM without a key."""
    value, attributes = bytearray(8), bytearray(32)
    struct.pack_into("=I4xQQ", attributes, 0, descriptor, 0, address_of(value))
    result = result_of(bpf, command, attributes)
    return result, bytes(value) if not result else None


@pytest.mark.parametrize("kind", [maps.QUEUE, maps.STACK])
@given(steps=st.lists(st.one_of(PUSHED, PUSHED, TAKEN), max_size=20))
@settings(max_examples=EXAMPLES)
def test_queues_and_stacks_have_the_kernels_results(kind, steps):
    with pair(MapSpec("a_map", kind, 0, 8, 3)) as (kernel, embedded):
        for name, *others in steps:
            if name == "push":
                expected = result_of(commands.update_element, kernel.descriptor, b"", *others)
                assert embedded.update(b"", *others) == expected
                continue
            expected = taken_element(LOOKUP_AND_DELETE if name == "pop" else LOOKUP, kernel.descriptor)
            value = embedded.pop() if name == "pop" else embedded.peek()
            assert (0 if value else -errno.ENOENT, value) == expected


@pytest.mark.parametrize("kind", ROOMY)
def test_a_full_lru_map_takes_what_is_new_and_forgets_something(kind):
    """Which one is the kernel's secret; that the map is never full, and has the last ones, is not."""
    spec = MapSpec("a_map", kind, 4, 8, 128)
    with pair(spec) as (kernel, embedded):
        for number in range(1000):
            key, value = struct.pack("=I", number), struct.pack("=Q", number)
            commands.update_element(kernel.descriptor, key, kernel._padded(value))
            assert embedded.update(key, value) == 0
        for elements in (kernel.read(), embedded.items()):
            held = dict(first_cpu(spec, elements))
            assert 0 < len(held) <= 128
            assert all(struct.unpack("=I", key) == struct.unpack("=Q", value) for key, value in held.items())
            assert held[struct.pack("=I", 999)] == struct.pack("=Q", 999)


FLAG_BITS = st.lists(st.sampled_from([1 << bit for bit in range(13)]), max_size=2).map(lambda bits: sum(set(bits)))
SIZES = st.sampled_from([0, 1, 4, 5, 8, 12, 1016, 1024, 4096, 32768, 32769])
ENTRIES = st.sampled_from([0, 1, 3, 4096, 8192, 5000])
KINDS = st.sampled_from(
    [
        maps.HASH, maps.ARRAY, maps.PROG_ARRAY, maps.PERF_EVENT_ARRAY, maps.PERCPU_HASH, maps.PERCPU_ARRAY,
        maps.STACK_TRACE, maps.LRU_HASH, maps.LRU_PERCPU_HASH, maps.QUEUE, maps.STACK, maps.RINGBUF, maps.TASK_STORAGE,
    ]
)  # fmt: skip


def kernel_refusal(spec):
    try:
        os.close(kernel_maps._create(spec, 0))
    except OSError as error:
        return error.errno
    return 0


@given(kind=KINDS, key_size=SIZES, value_size=SIZES, entries=ENTRIES, flags=FLAG_BITS, typed=st.booleans())
@settings(max_examples=20 * EXAMPLES)
def test_the_same_shapes_are_refused(kind, key_size, value_size, entries, flags, typed):
    if typed and kind != maps.TASK_STORAGE:
        typed = False
    spec = MapSpec(
        "a_map", kind, key_size, value_size, entries, flags, typed=typed and key_size == 4 and value_size > 0
    )
    assert check(spec) == kernel_refusal(spec), spec


@pytest.mark.parametrize(
    "kind", [maps.HASH, maps.PERCPU_HASH, maps.TASK_STORAGE, maps.ARRAY, maps.PERCPU_ARRAY, maps.QUEUE]
)
def test_the_largest_value_is_the_kernels(kind):
    spec = MapSpec("a_map", kind, 0 if kind == maps.QUEUE else 4, 8, 0 if kind == maps.TASK_STORAGE else 1)
    if kind == maps.TASK_STORAGE:
        spec = spec._replace(flags=maps.F_NO_PREALLOC, typed=True)
    elif kind != maps.QUEUE and "hash" in maps.NAMES[kind]:
        spec = spec._replace(flags=maps.F_NO_PREALLOC)
    allowed, refused = 8, 1 << 23
    while refused - allowed > 1:
        middle = (allowed + refused) // 2
        if check(spec._replace(value_size=middle)):
            refused = middle
        else:
            allowed = middle
    assert kernel_refusal(spec._replace(value_size=allowed)) == 0
    if allowed < (1 << 23) - 1:
        assert kernel_refusal(spec._replace(value_size=refused)) == errno.E2BIG


def test_the_kernel_refuses_what_the_embedded_engine_calls_read_only():
    spec = MapSpec("a_map", maps.HASH, 4, 8, 4, contents=((b"key.", b"value---"),), frozen=True)
    with pair(spec) as (kernel, embedded):
        expected = result_of(commands.update_element, kernel.descriptor, b"key.", b"other---", 0)
        assert embedded.update(b"key.", b"other---") == expected == -errno.EPERM
    for flag in (maps.F_RDONLY, maps.F_WRONLY):
        with pair(spec._replace(contents=(), frozen=False, flags=flag)) as (kernel, embedded):
            expected = result_of(commands.update_element, kernel.descriptor, b"key.", b"other---", 0)
            assert embedded.update(b"key.", b"other---") == expected
            refused = []
            for made in (kernel.read, embedded.items):
                with suppress(EngineError, PermissionError):
                    made()
                    refused.append(False)
            assert refused == ([] if flag == maps.F_WRONLY else [False, False])
