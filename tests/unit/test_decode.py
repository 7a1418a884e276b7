"""Record decoders and the search for runs."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from support.files.records import discarded, record

from sonde.consume.decode import key_reader, record_reader
from sonde.consume.runs import spans
from sonde.consume.stack_values import stack_value, user_stack_value
from sonde.consume.stacks import addresses, process_of
from sonde.model.records import Field


def read(fields, payload, strings=()):
    data = memoryview(record(1, payload))
    return record_reader(fields, strings, len(data))(data)[0]


def test_integers_of_every_size_and_sign():
    fields = [Field(16, 1, "int", True), Field(18, 2, "int"), Field(20, 4, "int", True), Field(24, 8, "int")]
    payload = struct.pack("<bxHiQ", -1, 65535, -2, (1 << 64) - 1)
    assert read(fields, payload) == (-1, 65535, -2, (1 << 64) - 1)


def test_fields_in_any_order_and_repeated():
    first, second = Field(16, 4, "int"), Field(20, 4, "int")
    assert read([second, first, second], struct.pack("<II", 1, 2)) == (2, 1, 2)


def test_strings_end_at_the_first_nul():
    assert read([Field(16, 8, "string")], b"ab\0cdef\0") == (b"ab",)
    assert read([Field(16, 4, "string")], b"abcd") == (b"abcd",)


def test_interned_string():
    assert read([Field(16, 4, "interned")], struct.pack("<I", 1), (b"zero", b"one")) == (b"one",)


def test_long_strings_lie_behind_the_fixed_part():
    fields = [Field(16, 8, "long_string"), Field(24, 8, "int")]
    payload = struct.pack("<IIQ", 32, 6, 99) + b"hello\0"
    assert read(fields, payload) == (b"hello", 99)


def test_stacks_end_at_zero():
    assert read([Field(16, 32, "stack")], struct.pack("<4Q", 5, 6, 0, 7)) == (struct.pack(">2Q", 5, 6),)
    assert read([Field(16, 32, "stack")], struct.pack("<4Q", 5, 6, 7, 8)) == (struct.pack(">4Q", 5, 6, 7, 8),)
    assert read([Field(16, 24, "ustack")], struct.pack("<3Q", 42, 6, 0)) == (struct.pack(">2Q", 42, 6),)
    assert read([Field(16, 24, "ustack")], bytes(24)) == (bytes(8),)


_words = st.sampled_from([0, 1, 0xFF, 0x100, 1 << 56, 0xFF << 56, 0x7F00_0000_0000, (1 << 64) - 1]) | st.integers(
    0, (1 << 64) - 1
)


@given(st.lists(st.tuples(_words, st.lists(_words, max_size=20)), max_size=6))
def test_stacks_compare_as_their_addresses_do(stacks):
    plain, values = [], []
    for process, words in stacks:
        before = words[: words.index(0)] if 0 in words else words
        plain.append((process, *before))
        values.append(user_stack_value(struct.pack(f"<{1 + len(words)}Q", process, *words)))
        assert stack_value(struct.pack(f"<{len(words)}Q", *words)) == values[-1][8:]
        assert addresses(values[-1]) == plain[-1]
        assert process_of(values[-1]) == process
    assert sorted(plain) == [addresses(each) for each in sorted(values)]


def test_symbols():
    fields = [Field(16, 8, "symbol", False, "mod"), Field(24, 16, "user_symbol", False, "usym")]
    assert read(fields, struct.pack("<3Q", 1, 2, 3)) == (1, (2, 3))


def test_two_views_of_the_same_bytes():
    fields = [Field(16, 8, "int"), Field(16, 8, "string"), Field(20, 4, "int", True)]
    assert read(fields, b"abcd\xff\xff\xff\xff") == (
        int.from_bytes(b"abcd\xff\xff\xff\xff", "little"), b"abcd\xff\xff\xff\xff", -1,
    )  # fmt: skip


def test_keys():
    fields = (Field(0, 4, "int", True), Field(8, 8, "string"))
    assert key_reader(fields, (), 16)([struct.pack("<i4x8s", -5, b"x\0junk")] * 2) == [(-5, b"x")] * 2
    assert key_reader((), (), 4)([b"\0\0\0\0"]) == [()]


def test_many_records_in_one_run():
    data = memoryview(b"".join(record(1, struct.pack("<Q", number)) for number in range(100)))
    values = record_reader([Field(16, 8, "int")], (), 32)(data)
    assert values == [(number,) for number in range(100)]


pieces = st.lists(
    st.tuples(
        st.sampled_from(["record", "record", "discarded"]),
        st.integers(1, 2), st.sampled_from([0, 0, 3]), st.sampled_from([0, 4, 8, 24]), st.integers(1, 60),
    ), max_size=30,
)  # fmt: skip


@given(pieces)
def test_spans_cover_every_record_once(plan):
    ring, expected = b"", []
    for kind, clause, speculation, size, times in plan:
        for _ in range(times):
            if kind == "discarded":
                ring += discarded(16 + size)
                continue
            # Payload that looks like record headers must not confuse the search.
            one = record(clause, struct.pack("<6I", 24, 0x11, clause, 1, 0, speculation)[:size], 1, 0, speculation)
            expected.append((clause, speculation, one))
            ring += one
    found = [
        (clause, speculation, ring[each : each + stride])
        for clause, speculation, start, stop, stride in spans(memoryview(ring))
        for each in range(start, stop, stride)
    ]
    assert found == expected


def test_a_long_run_is_few_spans():
    ring = memoryview(record(1, bytes(8)) * 10000)
    assert len(list(spans(ring))) < 10


def test_long_bytes_keep_their_zeros():
    field = Field(16, 8, "long_bytes")
    assert read([field], struct.pack("<II", 24, 5) + b"a\0b\0cjunk") == (b"a\0b\0c",)


def test_long_values_whose_words_are_read_otherwise_too():
    """A number, or another long value, may stand where the words of one are."""
    payload = struct.pack("<II8x", 32, 6) + b"hello\0"
    long = Field(16, 8, "long_string")
    number = 32 | 6 << 32
    assert read([Field(16, 8, "int"), long], payload) == (number, b"hello")
    assert read([Field(16, 4, "int"), long, Field(16, 8, "long_bytes")], payload) == (32, b"hello", b"hello\0")
