"""Helpers and rings of the embedded engine against the kernel's: one program runs in both."""

import ctypes
import mmap
import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.helper_twins import twins
from support.suite.example_counts import count_of

from sonde.bpf import maps
from sonde.engines.kernel.ring import KernelRing
from sonde.model.spec import MapSpec

pytestmark = pytest.mark.examples

EXAMPLES = count_of(60)

PAGE = mmap.PAGESIZE
U64 = (1 << 64) - 1
RING = MapSpec("ring", maps.RINGBUF, 0, 0, 4096)
BYTES = MapSpec("bytes", maps.ARRAY, 4, 2048, 1)


def negative(number):
    return number - (1 << 64) if number >> 63 else number


# The context is u64 operation, size, flags, result.
RING_PROGRAM = """
    r6 = r1
    r7 = *(u64 *)(r6 +0)
    r8 = *(u64 *)(r6 +8)
    r9 = *(u64 *)(r6 +16)
    if r7 == 1 goto nested
    if r7 == 2 goto query
    if r7 == 3 goto small
    if r8 > 2000 goto out
    r1 = map[ring]
    r2 = map[bytes][0]
    r3 = r8
    r4 = r9
    call bpf_ringbuf_output
    goto store
nested:
    r1 = map[ring]
    r2 = 40
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 == 0 goto store
    r7 = r0
    *(u64 *)(r7 +0) = r8
    r1 = map[ring]
    r2 = 17
    r3 = 0
    call bpf_ringbuf_reserve
    if r0 == 0 goto first
    *(u64 *)(r0 +8) = r8
    r1 = r0
    r2 = r9
    if r8 & 1 goto discard
    call bpf_ringbuf_submit
    goto first
discard:
    call bpf_ringbuf_discard
first:
    r1 = r7
    r2 = r9
    if r8 & 2 goto discard_first
    call bpf_ringbuf_submit
    r0 = 1
    goto store
discard_first:
    call bpf_ringbuf_discard
    r0 = 2
    goto store
query:
    r1 = map[ring]
    r2 = r9
    call bpf_ringbuf_query
    goto store
small:
    r1 = map[ring]
    r2 = 1
    r3 = r9
    call bpf_ringbuf_reserve
    if r0 == 0 goto store
    r1 = r0
    r2 = 0
    call bpf_ringbuf_submit
    r0 = 3
store:
    *(u64 *)(r6 +24) = r0
out:
    r0 = 0
    exit
"""

RING_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just(0), st.integers(0, 700), st.sampled_from([0, 0, 1, 2, 3, 4])),
        st.tuples(st.just(1), st.integers(0, 1 << 40), st.sampled_from([0, 1, 2])),
        st.tuples(st.just(2), st.just(0), st.integers(0, 4)),
        st.tuples(st.just(3), st.just(0), st.sampled_from([0, 0, 1])),
        st.tuples(st.just("read"), st.floats(0, 1)),
    ),
    max_size=60,
)


def records(view):
    """The sizes of the records in a view of a ring, with header and padding."""
    sizes, at = [], 0
    while at < len(view):
        size = (struct.unpack_from("=I", view, at)[0] & 0x3FFFFFFF) + 15 & -8
        sizes.append(size)
        at += size
    return sizes


def random_steps(random, count):
    """Many operations with reads in between, of parts of what there is: the positions go round many times."""
    for _ in range(count):
        name = random.choice([0, 0, 0, 1, 1, 2, 3, "read", "read"])
        if name == "read":
            yield name, random.choice([0, 0.5, 1, 1, random.random()])
        elif name == 0:
            yield (
                name,
                random.choice([random.randrange(40), random.randrange(1200)]),
                random.choice([0, 0, 0, 1, 2, 3, 4]),
            )
        elif name == 1:
            yield name, random.getrandbits(40), random.choice([0, 1, 2])
        else:
            yield name, 0, random.randrange(5) if name == 2 else 0


def check_steps(steps):
    specs = (RING, BYTES._replace(contents=((bytes(4), bytes(n % 251 for n in range(2048))),)))
    with twins(specs, RING_PROGRAM) as both:
        rings = [KernelRing(made["ring"].descriptor, 4096) for made in (both.kernel_maps, both.embedded_maps)]
        try:
            for name, *others in steps:
                if name != "read":
                    kernel, embedded = both.both(name, *others)
                    assert embedded == kernel
                    continue
                kernel, embedded = (ring.read() for ring in rings)
                assert embedded == kernel
                sizes = records(kernel)
                taken = sum(sizes[: round(others[0] * len(sizes))])
                for ring in rings:
                    ring.advance(taken)
            kernel, embedded = (bytes(ring.read()) for ring in rings)
            assert embedded == kernel
        finally:
            for ring in rings:
                ring.close()


@given(steps=RING_STEPS)
@settings(max_examples=EXAMPLES)
def test_the_ring_buffer_is_the_kernels_byte_for_byte(steps):
    check_steps(steps)


def test_the_ring_buffer_stays_the_kernels_however_often_it_goes_round():
    check_steps(random_steps(Random(4096), 50 * EXAMPLES))


@pytest.fixture(scope="module")
def user_memory():
    """Two pages of this process between two that cannot be read; the address of the first."""
    library = ctypes.CDLL(None, use_errno=True)
    area = mmap.mmap(-1, 4 * PAGE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for page in (0, 3):
        assert library.mprotect(ctypes.c_void_p(begin + page * PAGE), PAGE, 0) == 0
    yield area, begin + PAGE
    for page in (0, 3):
        assert library.mprotect(ctypes.c_void_p(begin + page * PAGE), PAGE, 3) == 0


# The context is u64 size, source, result; the destination is `bytes`.
READ_PROGRAM = """
    r6 = r1
    r1 = map[bytes][0]
    r2 = *(u64 *)(r6 +0)
    r3 = *(u64 *)(r6 +8)
    if r2 > 2048 goto out
    call bpf_{}
    *(u64 *)(r6 +16) = r0
out:
    r0 = 0
    exit
"""

JUNK = bytes(0x80 | n % 100 for n in range(2048))
EDGES = st.sampled_from([0, PAGE, 2 * PAGE])
PLACES = st.builds(lambda edge, distance: edge + distance, EDGES, st.integers(-40, 40))
SIZES = st.one_of(st.integers(0, 40), st.integers(0, 2048))
TEXTS = st.one_of(st.binary(max_size=24), st.integers(0, 2200).map(lambda n: b"x" * n))


def set_junk(both):
    for made in (both.kernel_maps, both.embedded_maps):
        write = getattr(made["bytes"], "write", None) or made["bytes"].update
        write(bytes(4), JUNK)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "helper", ["probe_read_user", "probe_read_user_str", "probe_read", "probe_read_str", "copy_from_user"]
)
def test_user_memory_is_read_as_the_kernel_reads_it(helper, user_memory):
    area, begin = user_memory

    with twins((BYTES,), READ_PROGRAM.format(helper)) as both:

        @given(place=PLACES, text=TEXTS, size=SIZES)
        @settings(max_examples=4 * EXAMPLES)
        def agrees(place, text, size):
            area[PAGE : 3 * PAGE] = b"y" * (2 * PAGE)
            put = (text + b"\0")[: max(0, 2 * PAGE - max(place, 0))]
            if place >= 0:
                area[PAGE + place : PAGE + place + len(put)] = put
            set_junk(both)
            kernel, embedded = both.both(size, begin + place)
            assert embedded == kernel
            # How much of a word is copied before a fault is cleared; nothing else is in the destination.
            contents = both.read("bytes")
            assert contents[1] == contents[0]

        agrees()


@pytest.mark.share(43)
@pytest.mark.parametrize(
    "helper", ["probe_read_user", "probe_read_user_str", "probe_read_kernel", "probe_read_kernel_str", "probe_read_str"]
)
@pytest.mark.parametrize("size", [0, 1, 8, 100])
@pytest.mark.parametrize(
    "address",
    [0, 1, 0x7FFFFFFFEFFF, 0x7FFFFFFFF000, 0x800000000000, 0xFF_FFFF_FFFF_F000, 1 << 56, 0xFEFF_FFFF_FFFF_FFFF,
     0xFF00_0000_0000_0000, 0xFFFF7FFFFFFFFFFF, 0xFFFF_FFFF_FF60_0000, 0xFFFF_FFFF_FFFF_F000, U64],
)  # fmt: skip
def test_addresses_where_nothing_is_are_refused_as_by_the_kernel(helper, size, address):
    with twins((BYTES,), READ_PROGRAM.format(helper)) as both:
        set_junk(both)
        kernel, embedded = both.both(size, address)
        assert embedded == kernel
        contents = both.read("bytes")
        assert contents[1] == contents[0]


# The context is u64 size, offset into `source`, result.
KERNEL_READ_PROGRAM = """
    r6 = r1
    r2 = *(u64 *)(r6 +0)
    r4 = *(u64 *)(r6 +8)
    if r2 > 2048 goto out
    if r4 > 2047 goto out
    r3 = map[source][0]
    r3 += r4
    r1 = map[bytes][0]
    call bpf_{}
    *(u64 *)(r6 +16) = r0
out:
    r0 = 0
    exit
"""


@pytest.mark.parametrize("helper", ["probe_read_kernel", "probe_read_kernel_str"])
def test_maps_values_are_read_as_the_kernel_reads_them(helper):
    # A NUL at the end, or the kernel would read on behind the value.
    text = (b"ab\0cdefgh\0" + b"z" * 1000 + b"\0" + b"w" * 2000)[:2047] + b"\0"
    source = MapSpec("source", maps.ARRAY, 4, 2048, 1, contents=((bytes(4), text),))
    with twins((BYTES, source), KERNEL_READ_PROGRAM.format(helper)) as both:

        @given(size=SIZES, offset=st.integers(0, 2047))
        @settings(max_examples=2 * EXAMPLES)
        def agrees(size, offset):
            if helper == "probe_read_kernel":
                size = min(size, 2048 - offset)
            set_junk(both)
            kernel, embedded = both.both(size, offset)
            assert embedded == kernel
            contents = both.read("bytes")
            assert contents[1] == contents[0]

        agrees()
