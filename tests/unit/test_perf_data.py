"""The frame, the features and the blocks of perf.data files: what is written is what is read."""

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.formats import perf_data, perf_data_blocks, perf_events, perf_features
from sonde.formats import perf_made_records as made
from sonde.formats.perf_data import Event, PerfDataError
from sonde.formats.perf_data_reader import PerfDataReader

numbers = st.integers(0, (1 << 64) - 1)


def attributes(size, rest):
    return struct.pack("=II", 1, size) + rest.ljust(size - 8, b"\1")[: size - 8]


events = st.lists(
    st.builds(Event, st.builds(attributes, st.sampled_from([64, 112, 136]), st.binary(max_size=128)),
              st.lists(numbers, max_size=4).map(tuple)),
    min_size=1, max_size=4,
)  # fmt: skip


def built(listed, note, records, features=()):
    """A whole file."""
    data = b"".join(records)
    file = bytearray(perf_data.opening(listed, note) + data)
    struct.pack_into("=Q", file, perf_data.DATA_SIZE_OFFSET, len(data))
    if features:
        numbers_of = [number for number, _ in features]
        file[perf_data.FEATURES_OFFSET : perf_data.FEATURES_OFFSET + 32] = perf_data.feature_bits(numbers_of)
        file += perf_data.closing(features, len(file))
    return bytes(file)


@given(events, st.binary(max_size=100), st.lists(st.binary(max_size=40), max_size=5), st.booleans())
def test_a_file_has_what_was_put_into_it(listed, note, contents, finished):
    records = [made.event_update(1, 99, content) for content in contents]
    features = [(3, b"host\0"), (12, b"something"), (200, b"")] if finished else []
    reader = PerfDataReader(io.BytesIO(built(listed, note, records, features)))
    assert reader.note == note
    assert [event.ids for event in reader.events] == [event.ids for event in listed]
    for given_, found in zip(listed, reader.events, strict=True):
        # Those with fewer fields are as long as the others, with zeros behind.
        assert found.attributes[8:] == given_.attributes[8:].ljust(len(found.attributes) - 8, b"\0")
    assert [record.data for record in reader.records()] == records
    assert reader.damage == ""
    assert reader.is_finished == finished
    assert reader.feature(3).rstrip(b"\0") == (b"host" if finished else b"")


@pytest.mark.long
@given(events, st.binary(max_size=30), st.lists(st.binary(max_size=40), max_size=4), st.booleans())
def test_a_file_cut_anywhere_has_the_records_before_the_cut(listed, note, contents, finished):
    records = [made.event_update(1, 99, content) for content in contents]
    features = [(3, b"host\0")] if finished else []
    whole = built(listed, note, records, features)
    start = len(perf_data.opening(listed, note))
    for length in range(len(whole) + 1):
        try:
            reader = PerfDataReader(io.BytesIO(whole[:length]))
        except PerfDataError:
            assert length < start
            continue
        found = [record.data for record in reader.records()]
        assert found == records[: len(found)]
        data = sum(map(len, found))
        if length - start >= data + len(records[len(found)] if len(found) < len(records) else b""):
            assert found == records
        assert bool(reader.damage) == (start + data < length if not finished else found != records)


@given(st.integers(0, (1 << 31) - 1), st.binary(max_size=200_000), st.binary(max_size=10))
def test_blocks_of_any_size_are_put_together_again(kind, content, other):
    reader = perf_data_blocks.BlockReader()
    found = []
    for record in [*perf_data_blocks.records(5, kind, content), *perf_data_blocks.records(5, 7, other)]:
        assert len(record) % 8 == 0
        block = reader.take(memoryview(record)[8:])
        found += [block] if block is not None else []
    assert found == [(kind, content), (7, other)]


def test_what_perf_says_of_an_event_is_no_block():
    record = made.event_name(5, "profile-997")
    assert perf_data_blocks.BlockReader().take(memoryview(record)[8:]) is None


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80),
                          st.binary(min_size=1, max_size=20), st.booleans()), max_size=5))  # fmt: skip
def test_build_ids(listed):
    found = [perf_features.BuildId(*each) for each in listed]
    section = perf_features.build_ids(found)
    assert parsed_build_ids(section) == found


def parsed_build_ids(section):
    """struct perf_record_header_build_id of tools/lib/perf/include/perf/event.h, one behind the other."""
    found, at = [], 0
    while at < len(section):
        _, misc, size, _, content, length = struct.unpack_from("=IHHi20sB", section, at)
        path = section[at + 36 : at + size].partition(b"\0")[0].decode()
        known = length if misc & 1 << 15 else 20
        found.append(perf_features.BuildId(path, content[:known], misc & 7 == perf_events.MISC_KERNEL))
        at += size
    return found


def test_event_names():
    listed = [("one", Event(attributes(64, b""), (1, 2))), ("two", Event(attributes(112, b""), (3,)))]
    section = perf_features.event_descriptions(listed)
    assert perf_features.parse_event_names(section) == {1: "one", 2: "one", 3: "two"}
    assert perf_features.parse_event_names(section[:-9]) == {1: "one", 2: "one"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no perf.data file"),
        (b"#!/bin/sh\n" * 20, "no perf.data file"),
        (b"2ELIFREP" + bytes(96), "other byte order"),
        (b"PERFILE2" + struct.pack("=Q", 16) + bytes(100), "to a pipe"),
        (b"PERFILE2" + struct.pack("=Q", 104), "cut off within its header"),
        (b"PERFILE2" + struct.pack("=Q", 72) + bytes(100), "its header is said to have 72 bytes"),
        (b"PERFILE2" + struct.pack("=QQQQQQ", 104, 128, 104, 128, 1 << 60, 8) + bytes(100), "where they cannot be"),
        (b"PERFILE2" + struct.pack("=QQQQQQ", 104, 8, 104, 128, 232, 8) + bytes(200), "list of events is damaged"),
        (b"PERFILE2" + struct.pack("=QQQQQQ", 104, 128, 104, 1280, 232, 8) + bytes(100), "cut off within its list"),
        (b"PERFILE2" + struct.pack("=QQQQQQ", 104, 128, 104, 128, 232, 8).ljust(96, b"\0") + b"SONDENOT"
         + struct.pack("=Q", 1 << 62) + bytes(200), "cut off within sonde's description"),
    ],
)  # fmt: skip
def test_other_files_are_refused(data, reason):
    with pytest.raises(PerfDataError, match=reason):
        PerfDataReader(io.BytesIO(data))


def test_a_record_of_an_impossible_size_ends_the_data():
    good = made.finished_round()
    listed = [Event(attributes(64, b""), (1,))]
    for size in (0, 4, 12):
        data = built(listed, b"", [good, struct.pack("=IHH", 68, 0, size), good], [(3, b"host\0")])
        reader = PerfDataReader(io.BytesIO(data))
        assert [record.data for record in reader.records()] == [good]
        assert f"a record of {size} bytes" in reader.damage
