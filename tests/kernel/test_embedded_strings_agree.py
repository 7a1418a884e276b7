"""Helpers that read, compare and write text, against the kernel's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.helper_twins import twins
from support.suite.example_counts import count_of

from sonde.bpf import maps
from sonde.model.spec import MapSpec

pytestmark = pytest.mark.examples

EXAMPLES = count_of(60)

TEXT = MapSpec("text", maps.ARRAY, 4, 96, 1)

# The context is u64 size, flags, result, number.
PARSE_PROGRAM = """
    r6 = r1
    r1 = map[text][0]
    r2 = *(u64 *)(r6 +0)
    if r2 == 0 goto out
    if r2 > 96 goto out
    r3 = *(u64 *)(r6 +8)
    r7 = -1
    *(u64 *)(r10 -8) = r7
    r4 = r10
    r4 += -8
    call bpf_{}
    *(u64 *)(r6 +16) = r0
    r1 = *(u64 *)(r10 -8)
    *(u64 *)(r6 +24) = r1
out:
    r0 = 0
    exit
"""

DIGITS = st.text("0123456789abcdefABCDEFxX", max_size=70)
NUMBERS = st.one_of(
    st.builds(
        "{}{}{}".format, st.sampled_from(["", " ", "\t\n -", "-", "--", "+", "0x", "0", "-0X", "-0"]), DIGITS, DIGITS
    ),
    st.integers(-(1 << 65), 1 << 65).map(str),
    st.integers(0, 1 << 65).map(hex),
    st.sampled_from(
        ["", "-", " ", "0x", "0xg", "-9223372036854775808", "-9223372036854775809", "18446744073709551616"]
    ),
).map(str.encode)


def put(both, name, data):
    for made in (both.kernel_maps, both.embedded_maps):
        write = getattr(made[name], "write", None) or made[name].update
        write(bytes(4), data)


@pytest.mark.share(1)
@pytest.mark.parametrize("helper", ["strtol", "strtoul"])
def test_numbers_are_read_as_by_the_kernel(helper):
    with twins((TEXT,), PARSE_PROGRAM.format(helper)) as both:

        @given(
            text=NUMBERS,
            tail=st.binary(max_size=8),
            size=st.integers(1, 96),
            flags=st.sampled_from([0, 0, 8, 10, 16, 2, 32]),
        )
        @settings(max_examples=5 * EXAMPLES)
        def agrees(text, tail, size, flags):
            put(both, "text", (text + tail).ljust(96, b"\0")[:96])
            kernel, embedded = both.both(size, flags)
            assert embedded == kernel

        agrees()


COMPARE_PROGRAM = """
    r6 = r1
    r1 = map[text][0]
    r2 = *(u64 *)(r6 +0)
    if r2 == 0 goto out
    if r2 > 96 goto out
    r3 = map[constant][0]
    call bpf_strncmp
    *(u64 *)(r6 +8) = r0
out:
    r0 = 0
    exit
"""


@pytest.mark.parametrize("constant", [b"", b"abc", b"ab\xff", b"a" * 94])
def test_strings_compare_as_in_the_kernel(constant):
    frozen = MapSpec(
        "constant",
        maps.ARRAY,
        4,
        96,
        1,
        maps.F_RDONLY_PROG,
        contents=((bytes(4), constant.ljust(96, b"\0")),),
        frozen=True,
    )
    with twins((TEXT, frozen), COMPARE_PROGRAM) as both:

        @given(text=st.text("abc\x7f", max_size=5) | st.just("a" * 95), size=st.integers(1, 96))
        @settings(max_examples=EXAMPLES)
        def agrees(text, size):
            put(both, "text", text.encode().ljust(96, b"\0"))
            kernel, embedded = both.both(size)
            assert embedded == kernel

        agrees()


PRINT_PROGRAM = """
    r6 = r1
    r1 = map[text][0]
    r2 = *(u64 *)(r6 +0)
    if r2 > 96 goto out
    r3 = map[constant][0]
    r4 = *(u64 *)(r6 +8)
    *(u64 *)(r10 -16) = r4
    r4 = *(u64 *)(r6 +16)
    *(u64 *)(r10 -8) = r4
    r4 = r10
    r4 += -16
    r5 = 16
    call bpf_snprintf
    *(u64 *)(r6 +24) = r0
out:
    r0 = 0
    exit
"""


@pytest.mark.share(7)
@pytest.mark.parametrize(
    "template",
    [
        b"%d %d", b"%u|%i", b"%5d%-5d|", b"%05d %+d", b"% d %x", b"%lX %ld", b"%llu %lld", b"%c%c%%", b"%3c|%-3c|",
        b"%020ld|%-020lx|", b"%px %px", b"no more %d and %d", b"%+05i|%-+8i|",
    ],
)  # fmt: skip
def test_numbers_are_printed_as_by_the_kernel(template):
    frozen = MapSpec(
        "constant",
        maps.ARRAY,
        4,
        96,
        1,
        maps.F_RDONLY_PROG,
        contents=((bytes(4), template.ljust(96, b"\0")),),
        frozen=True,
    )
    with twins((TEXT, frozen), PRINT_PROGRAM) as both:

        @given(size=st.integers(0, 96), first=ARGUMENT, second=ARGUMENT)
        @settings(max_examples=EXAMPLES)
        def agrees(size, first, second):
            put(both, "text", b"\xee" * 96)
            kernel, embedded = both.both(size, first, second)
            assert embedded == kernel
            contents = both.read("text")
            assert contents[1] == contents[0]

        agrees()


ARGUMENT = st.one_of(
    st.integers(0, 300), st.integers(0, (1 << 64) - 1), st.integers(1, 300).map(lambda n: (1 << 64) - n)
)


def test_strings_and_addresses_are_printed_as_by_the_kernel():
    import ctypes

    texts = [ctypes.create_string_buffer(text) for text in (b"hello", b"", b"y" * 700)]
    addresses = [ctypes.addressof(text) for text in texts] + [0, 1 << 46]
    for template in (b"%s|%s", b"%pus %10s", b"%-8pus|%pks", b"%pI4 %pi4", b"%pI6 %pi6", b"%pB %s", b"%pI4abc|%pxyz"):
        contents = ((bytes(4), template.ljust(96, b"\0")),)
        frozen = MapSpec("constant", maps.ARRAY, 4, 96, 1, maps.F_RDONLY_PROG, contents=contents, frozen=True)
        with twins((TEXT, frozen), PRINT_PROGRAM) as both:
            for first in addresses:
                for second in addresses:
                    put(both, "text", b"\xee" * 96)
                    kernel, embedded = both.both(96, first, second)
                    assert (template, embedded) == (template, kernel)
                    contents = both.read("text")
                    assert contents[1] == contents[0]
