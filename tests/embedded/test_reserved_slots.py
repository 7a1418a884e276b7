"""Slots reserved in perf rings and filled by stores: what is read, and what is lost."""

import gc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.perf_programs import execution, load, program  # noqa: F401 - `execution` runs every test in both
from support.files.perf_rings import event_with_ring, reader_of
from support.files.raw_fragments import linear

from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_lost, decode_sample
from sonde.runtime.perf.sample import Sample

SIZE = 4096
KINDS = {"time": perf.SAMPLE_TIME | perf.SAMPLE_RAW, "bare": perf.SAMPLE_RAW}
HEAD = {"time": 20, "bare": 12}
LOST = 24


def content(number, size):
    return (number.to_bytes(4, "little") * (size // 4 + 1))[:size]


class Model:
    """What a ring must do, counted by hand: `head` and `tail` are positions, `lost` are not told yet."""

    def __init__(self, head_size):
        self.head_size = head_size
        self.head = self.tail = self.lost = self.told = 0

    def take(self, size):
        """Whether there is room."""
        whole = (self.head_size + size + 7 & -8) + (LOST if self.lost else 0)
        if whole > SIZE - 1 - (self.head - self.tail):
            self.lost += 1
            return False
        self.told += self.lost
        self.lost = 0
        self.head += whole
        return True


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 900)),
        st.tuples(st.just("output"), st.integers(0, 900)),
        st.tuples(st.just("commit"), st.integers(0, 5)),
        st.tuples(st.just("discard"), st.integers(0, 5)),
        st.tuples(st.just("read"), st.just(0)),
    ),
    min_size=30,
    max_size=150,
)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@given(steps=STEPS)
@settings(max_examples=150)
def test_what_is_stored_is_read_in_order_and_what_is_lost_is_told(kind, steps):
    """Over many turns of a ring of a page; slots are closed in any order, and other records are written meanwhile."""
    event = event_with_ring(sample_type=KINDS[kind])
    ring, reader, model = event.ring, reader_of(event), Model(HEAD[kind])
    opened, expected, lost = [], [], 0

    def look():
        nonlocal lost
        found = []
        for record in reader.read():
            if record.type == perf.RECORD_LOST:
                lost += decode_lost(record.body).lost
            elif record.type == perf.RECORD_SAMPLE:
                found.append(bytes(decode_sample(record.body, KINDS[kind]).raw))
            else:
                assert record.type == 0
        if not opened:
            wanted = [content(each, size) for each, size, is_read in expected if is_read]
            assert [raw[: len(data)] for raw, data in zip(found, wanted, strict=True)] == wanted
            expected.clear()
            model.tail = model.head
            reader.advance()
        else:
            assert found == [], "nothing is to be seen behind a slot that is open"

    for number, (name, argument) in enumerate(steps):
        if name == "reserve":
            at = event.reserve(Sample({"time": number}), argument)
            assert (at >= 0) == model.take(argument)
            if at >= 0:
                expected.append([number, argument, True])
                opened.append((at, expected[-1]))
        elif name == "output":
            result = event.output(Sample({"time": number}, linear(memoryview(content(number, argument)))))
            assert (result == 0) == model.take(argument)
            if not result:
                expected.append([number, argument, True])
        elif name in ("commit", "discard") and opened:
            at, entry = opened.pop(argument % len(opened))
            ring.direct[at : at + entry[1]] = content(*entry[:2])
            entry[2] = name == "commit"
            assert ring.commit(at, name == "discard")
        elif name == "read" and not opened:
            look()
    for at, entry in opened:
        ring.direct[at : at + entry[1]] = content(*entry[:2])
        assert ring.commit(at, False)
    opened.clear()
    look()
    assert (lost, event.lost) == (model.told, model.told + model.lost)


def test_a_slot_is_in_one_piece_across_the_end_of_the_ring():
    event = event_with_ring(sample_type=perf.SAMPLE_RAW)
    ring, reader, crossed = event.ring, reader_of(event), 0
    for number in range(500):
        at = event.reserve(Sample(), 701)
        ring.direct[at : at + 701] = content(number, 701)
        crossed += at + 701 > SIZE
        assert ring.commit(at, False)
        (record,) = reader.read()
        assert bytes(decode_sample(record.body, perf.SAMPLE_RAW).raw[:701]) == content(number, 701)
        reader.advance()
    assert crossed > 60


def test_only_what_is_open_can_be_committed_and_once():
    event = event_with_ring(sample_type=perf.SAMPLE_RAW)
    at = event.reserve(Sample(), 8)
    assert [event.ring.commit(each, False) for each in (at + 8, at, at)] == [False, True, False]


def test_registers_stand_behind_the_room_as_in_any_sample():
    event = event_with_ring(sample_type=perf.SAMPLE_RAW | perf.SAMPLE_REGS_USER, sample_regs_user=0b11)
    at = event.reserve(Sample(registers=bytes(range(168))), 20)
    event.ring.direct[at : at + 20] = b"x" * 20
    event.ring.commit(at, False)
    (record,) = reader_of(event).read()
    decoded = decode_sample(record.body, KINDS["bare"] | perf.SAMPLE_REGS_USER, registers=2)
    assert (bytes(decoded.raw[:20]), len(decoded.registers)) == (b"x" * 20, 2)


def test_a_sample_without_raw_data_or_one_too_large_has_no_room():
    assert event_with_ring(sample_type=perf.SAMPLE_TIME).reserve(Sample(), 8) < 0
    assert event_with_ring(32, sample_type=perf.SAMPLE_RAW).reserve(Sample(), 1 << 16) < 0


def test_the_memory_of_a_ring_goes_with_its_last_view():
    def mapped():
        gc.collect()
        return Path("/proc/self/maps").read_text().count("memfd:perf_ring")

    before = mapped()
    event = event_with_ring(4)
    view = event.ring.direct[:100]
    assert mapped() == before + 2
    del event
    assert mapped() == before + 2
    view[0] = 1
    del view
    assert mapped() == before
