"""perf.data files of others: what they have comes in the order of time, however they were written."""

import io
import random
import struct
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files import perf_files

from sonde.formats import perf_data, perf_features
from sonde.formats import perf_events as perf
from sonde.formats.perf_data import Event, PerfDataError
from sonde.formats.perf_data_input import FiledRecord, FiledSampleOf, PerfDataInput
from sonde.formats.perf_order import RoundOrder
from sonde.formats.perf_tracing_data import TracingDataError, parse_tracing_data

needs_zstd = pytest.mark.skipif(
    not any(find_spec(each) for each in ("zstandard", "compression")), reason="needs package python3-zstandard"
)


def values(data):
    file = PerfDataInput(io.BytesIO(data))
    return file, list(file.values())


def times(found):
    return [each.sample.time if isinstance(each, FiledSampleOf) else each.stamp.time for each in found]


def zstd():
    """A function that compresses pieces of one stream, and flushes each."""
    try:
        from compression import zstd as own
    except ImportError:
        import zstandard

        stream = zstandard.ZstdCompressor().compressobj()
        return lambda data: stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    made = own.ZstdCompressor()
    return lambda data: made.compress(data, made.FLUSH_BLOCK)


def written(form):
    records = perf_files.session()
    if form == "compressed":
        return perf_files.compressed(records, zstd())
    return perf_files.pipe(records) if form == "pipe" else perf_files.file(records)


FORMS = ["file", "pipe", pytest.param("compressed", marks=needs_zstd)]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_is_read_however_it_was_written(form):
    file, found = values(written(form))
    assert (file.damage, file.strange, file.is_torn) == ("", 0, False)
    assert times(found) == sorted(times(found))
    samples = [(each.event, each.sample) for each in found if isinstance(each, FiledSampleOf)]
    assert len(samples) == 9
    others = [type(each.value).__name__ for each in found if isinstance(each, FiledRecord)]
    assert others == ["ThreadNamed", "FileMapped", "ThreadMade", "ThreadNamed", "FileMapped", "ThreadEnded"]
    assert [file.described[file.events[event].config].name for event, _ in samples if file.events[event].type == 2] == [
        "sched_switch", "sched_process_exec", "sys_enter_openat", "sys_exit_openat", "sys_enter_openat",
        "sys_exit_openat", "sys_enter",
    ]  # fmt: skip
    clock = next(sample for event, sample in samples if file.events[event].type == 1)
    assert (clock.pid, clock.tid, clock.cpu, clock.ip) == (10, 10, 0, 0x1000)
    assert (list(clock.kernel_stack), list(clock.user_stack)) == ([], [0x1000, 0x1010])
    assert file.architecture == "x86_64"
    if form != "pipe":
        assert file.names[-1] == "cpu-clock:ppp"
        assert file.clock == (1, 10**18, 10**9)
        assert file.build_ids[0].path == "/bin/program"


@pytest.mark.long
def test_a_file_that_ends_behind_its_data_is_damaged_wherever_it_is_cut():
    """Its samples are all there, and what is said of them is not, in part or at all."""
    whole = written("file")
    start, size = struct.unpack_from("=QQ", whole, 40)
    _, everything = values(whole)
    for end in range(start + size, len(whole)):
        try:
            file, found = values(whole[:end])
        except PerfDataError:
            continue
        assert file.damage.startswith(f"it is cut off behind its data, at byte {end}")
        assert len(found) == len(everything)


@given(st.lists(st.lists(st.integers(1, 10**6), max_size=20), max_size=6), st.randoms())
def test_rounds_come_in_the_order_of_time(rounds, chance):
    """As the kernel fills rings: what is read in one round is later than what was read in the round before the last."""
    records, before, last = [], 0, 0
    for offsets in rounds:
        found = [before + offset for offset in offsets]
        chance.shuffle(found)
        records += [perf_files.switch(time, (1, 1), (b"next", 2)) for time in found]
        records.append(perf_files.finished_round())
        before, last = last, max([last, *found])
    file, found = values(perf_files.file(records))
    assert times(found) == sorted(times(found))
    assert len(found) == sum(map(len, rounds))
    assert not file.is_torn


def test_a_file_without_rounds_takes_no_more_memory_than_others(monkeypatch):
    monkeypatch.setattr("sonde.formats.perf_order._MOST_WAITING", 100_000)
    order, most = RoundOrder(), 0
    record = PerfDataInput(io.BytesIO(perf_files.file(perf_files.session())))
    del record
    from sonde.formats.perf_data_reader import DataRecord

    given_ = []
    chance = random.Random(3)
    for time in range(5000):
        given_ += order.add(time + chance.randrange(20), DataRecord(9, 0, bytes(100)))
        most = max(most, len(order._waiting))
    given_ += order.rest()
    assert len(given_) == 5000
    assert most < 300
    assert not order.is_torn
    order.add(1, DataRecord(9, 0, b""))
    order.rest()
    assert order.is_torn


FIELDS = {
    perf.SAMPLE_IDENTIFIER: "Q", perf.SAMPLE_ADDR: "Q", perf.SAMPLE_STREAM_ID: "Q", perf.SAMPLE_READ: "",
    perf.SAMPLE_REGS_USER: "", perf.SAMPLE_BRANCH_STACK: "", perf.SAMPLE_WEIGHT: "Q",
}  # fmt: skip


@given(
    st.sets(st.sampled_from(list(FIELDS))), st.integers(0, 31), st.integers(0, 3), st.booleans(),
    st.sampled_from((0, 1, 0b1011)), st.lists(st.integers(0, 2**63), max_size=4),
)  # fmt: skip
def test_samples_are_read_whatever_the_event_asked_for(extra, read_format, branches, has_index, mask, stack):
    """The fields that are not looked at are as long as they say."""
    kind = perf_files.SAMPLE_TYPE | sum(extra)
    branch_type = 1 << 17 if has_index else 0
    flags = 1 << 18
    attributes = struct.pack(
        "=IIQQQQQIIQQQQ", 1, 112, 0, 7, kind, read_format, flags, 0, 0, 0, 0, branch_type, mask
    ).ljust(112, b"\0")  # fmt: skip
    body = b""
    if perf.SAMPLE_IDENTIFIER in extra:
        body += struct.pack("=Q", 5)
    body += struct.pack("=QIIQ", 0x1234, 3, 4, 99)
    body += struct.pack("=Q", 0xABC) if perf.SAMPLE_ADDR in extra else b""
    body += struct.pack("=Q", 5)
    body += struct.pack("=Q", 1) if perf.SAMPLE_STREAM_ID in extra else b""
    body += struct.pack("=IIQ", 1, 0, 7)
    if perf.SAMPLE_READ in extra:
        each = b"x" * 8 * (1 + bool(read_format & 4) + bool(read_format & 16))
        head = b"y" * 8 * (bool(read_format & 1) + bool(read_format & 2))
        body += struct.pack("=Q", 2) + head + 2 * each if read_format & 8 else each[:8] + head + each[8:]
    body += struct.pack(f"={2 + len(stack)}Q", len(stack) + 1, (1 << 64) - 512, *stack)
    body += struct.pack("=I", 12) + b"raw of event"
    if perf.SAMPLE_BRANCH_STACK in extra:
        body += struct.pack("=Q", branches) + bytes(8 * has_index + 24 * branches)
    if perf.SAMPLE_REGS_USER in extra:
        body += struct.pack("=Q", 2) + struct.pack(f"={mask.bit_count()}Q", *range(mask.bit_count()))
    body += struct.pack("=Q", 1) if perf.SAMPLE_WEIGHT in extra else b""
    record = perf_files.record(perf.RECORD_SAMPLE, perf.MISC_USER, body)
    file, found = values(perf_files.file([record], events=[("e", Event(attributes, (5,)))]))
    assert (file.damage, file.strange) == ("", 0)
    sample = found[0].sample
    assert (sample.ip, sample.pid, sample.tid, sample.time, sample.cpu, sample.period) == (0x1234, 3, 4, 99, 1, 7)
    assert sample.address == (0xABC if perf.SAMPLE_ADDR in extra else 0)
    assert list(sample.user_stack) == stack
    assert bytes(sample.raw) == b"raw of event"
    has_registers = perf.SAMPLE_REGS_USER in extra
    assert sample.registers == (tuple(range(mask.bit_count())) if has_registers else ())


@given(st.integers(0, 4000))
def test_a_file_that_is_cut_off_has_what_is_before(cut):
    """Without its end it has no features; what it has is told record by record."""
    records = perf_files.session()
    whole = perf_files.file(records, told=[])
    data = whole[: len(whole) - cut]
    try:
        _, found = values(data)
    except PerfDataError:
        assert cut > len(b"".join(records))
        return
    _, everything = values(whole)
    assert len(found) <= len(everything)
    if not cut:
        assert found == everything


@given(st.integers(0, 1000))
def test_names_behind_damage_are_told_to_be_missing(cut):
    section = perf_features.event_descriptions(perf_files.EVENTS)
    section = section[: max(len(section) - cut, 4)]
    told = [(number, section if number == perf_features.EVENT_DESCRIPTIONS else each)
            for number, each in perf_files.features()]  # fmt: skip
    file, found = values(perf_files.file(perf_files.session(), told=told))
    missing = sum(not name for name in file.names)
    assert file.damage == (f"the names of {missing} of its events are damaged" if missing else "")
    assert bool(missing) or cut < 8
    assert found


def test_what_stands_behind_a_record_is_passed_over():
    """PERF_RECORD_AUXTRACE has data behind it that are none of the file's records."""
    auxtrace = struct.pack("=IHHQ", 71, 0, 48, 3 << 20) + bytes(32) + b"\xff" * (3 << 20)
    _, found = values(perf_files.file([auxtrace, *perf_files.session()]))
    assert len(found) == 15


@needs_zstd
def test_what_becomes_too_large_is_refused():
    compress = zstd()
    bomb = compress(bytes(300 << 20))
    pieces = [bomb[at : at + 60_000] for at in range(0, len(bomb), 60_000)]
    file = PerfDataInput(io.BytesIO(perf_files.file([perf_files._unpadded(81, each) for each in pieces])))
    assert list(file.values()) == []
    assert "becomes too large" in file.damage


@needs_zstd
def test_damaged_compression_ends_the_reading():
    file = perf_files.compressed(perf_files.session(), zstd())
    broken = bytearray(file)
    at = file.index(struct.pack("=IH", 81, 0), 700) + 12
    broken[at : at + 4] = b"\xff" * 4
    found = PerfDataInput(io.BytesIO(bytes(broken)))
    list(found.values())
    assert "compressed in it is damaged" in found.damage


def test_who_has_no_zstd_is_told_of_the_extra(monkeypatch):
    def import_module(name):
        raise ImportError(name)

    monkeypatch.setattr("sonde.formats.zstd_stream.import_module", import_module)
    file = PerfDataInput(io.BytesIO(perf_files.file([perf_files._unpadded(81, b"anything")])))
    assert list(file.values()) == []
    assert "install sonde-trace[zstd]" in file.damage


@pytest.mark.parametrize("order", ["little", "big"])
def test_descriptions_of_trace_events_are_read_back(order):
    data = perf_files.described()
    if order == "big":
        data = data[:14] + b"\1" + data[15:]
        with pytest.raises(TracingDataError):
            parse_tracing_data(data)
        return
    found = parse_tracing_data(data)
    assert [(each.group, each.name, each.number) for each in found] == list(perf_files.FORMATS)
    for end in range(0, len(data) - 60, 7):
        with pytest.raises(TracingDataError):
            parse_tracing_data(data[:end])


def test_features_are_read_back():
    event = Event(bytes(112), (4, 5))
    section = perf_features.event_descriptions([("one", event), ("two", Event(bytes(112), ()))])
    assert perf_features.parse_descriptions(section) == [("one", event), ("two", Event(bytes(112), ()))]
    assert perf_features.parse_event_names(section) == {4: "one", 5: "one"}
    ids = [perf_features.BuildId("/bin/a", b"\7" * 20, False), perf_features.BuildId("[kernel]", b"\1" * 16, True)]
    assert [each.id.rstrip(b"\0") for each in perf_features.parse_build_ids(perf_features.build_ids(ids))] == [
        each.id for each in ids
    ]  # fmt: skip
    assert perf_features.parse_text(perf_features.text("a machine")) == "a machine"
    assert perf_features.parse_clock(perf_features.clock(1, 5, 6)) == (1, 5, 6)


@pytest.mark.parametrize("size", [2000, (1 << 63) - 1, (1 << 64) - 1])
@pytest.mark.parametrize("behind", [1 << 40, (1 << 63) - 2000, (1 << 63) + 100, (1 << 64) - 64])
def test_bytes_passed_over_may_end_where_no_file_ends(behind, size):
    made = bytearray(perf_files.file([struct.pack("=IHHQ", 71, 0, 48, behind) + bytes(32), *perf_files.session()]))
    struct.pack_into("=Q", made, perf_data.DATA_SIZE_OFFSET, size)
    found = PerfDataInput(io.BytesIO(made))
    assert list(found.values()) == []
    assert "cut off" in found.damage


def test_several_events_that_samples_do_not_tell_apart_are_said():
    """Samples of old files have no numbers of their events where there was one event that counted."""
    without = perf_files.SAMPLE_TYPE & ~(perf.SAMPLE_ID | perf.SAMPLE_IDENTIFIER)

    def event(config, number):
        words = struct.pack("=IIQQQQQ", perf.TYPE_SOFTWARE, 112, config, 1, without, 0, 0)
        return ("", Event(words.ljust(112, b"\0"), (number,)))

    for configs, said in (([2, 3], True), ([2, perf.SOFTWARE_DUMMY], False), ([2], False)):
        events = [event(config, number) for number, config in enumerate(configs, 1)]
        file, _ = values(perf_files.file([], [], events))
        assert ("do not say which of its 2 events they are of" in file.damage) == said
    assert "do not say" not in values(perf_files.file([]))[0].damage
