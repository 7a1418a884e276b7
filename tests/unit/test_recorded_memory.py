"""What a recording tells of memory: as much as was there, in however many pieces it was read."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sonde.engines.embedded.sources.recorded_world import FiringAnswers
from sonde.engines.fired import FiringThread, MemoryRead, RecordedFiring
from sonde.model.firing_names import MissingParts

AT = 0x7000_0000
THREAD = FiringThread(101, 101, b"it", 0, 0, 1, 0)
texts = st.binary(max_size=60).map(lambda each: each.replace(b"\0", b"x"))


def answers(reads):
    missing = MissingParts()
    found = FiringAnswers(missing, True, lambda pid: 0)
    found.begin(RecordedFiring(0, 0, 0, THREAD, b"", reads=tuple(reads)), "p", tuple)
    return found, missing


@st.composite
def pieces(draw, data):
    """Reads of all the bytes, which may overlap, in any order."""
    cuts = sorted({0, len(data), *draw(st.lists(st.integers(0, len(data)), max_size=4))})
    reads = [MemoryRead(AT + begin, data[begin : draw(st.integers(end, len(data)))]) for begin, end in pairwise(cuts)]
    return draw(st.permutations(reads))


@given(st.data(), texts, st.integers(1, 70))
def test_a_string_read_in_pieces_is_whole(data, text, size):
    found, missing = answers(data.draw(pieces(text + b"\0" + data.draw(st.binary(max_size=9)))))
    assert found.string(True, AT, size) == text[:size]
    assert not missing.sentences()


@given(st.data(), st.binary(min_size=1, max_size=60))
def test_memory_read_in_pieces_is_whole(data, memory):
    found, missing = answers(data.draw(pieces(memory)))
    begin = data.draw(st.integers(0, len(memory) - 1))
    size = data.draw(st.integers(1, len(memory) - begin))
    assert found.read(True, AT + begin, size) == memory[begin : begin + size]
    assert not missing.sentences()


@given(st.data(), texts.filter(bool), st.booleans())
def test_what_went_on_in_vain_is_not_missing(data, text, has_failed):
    """The recorded program could not read on either: a fault, but not for want of a recording."""
    failed = [MemoryRead(AT + len(text), None)] if has_failed else []
    for ask in (FiringAnswers.string, FiringAnswers.read):
        found, missing = answers([*data.draw(pieces(text)), *failed])
        assert ask(found, True, AT, len(text) + 1) is None
        assert bool(missing.sentences()) is not has_failed


@given(texts, st.integers(1, 70))
def test_a_path_goes_before_the_members_at_its_address(text, size):
    reads = [MemoryRead(AT, b"(" * 80), MemoryRead(AT, text, True)]
    for order in (reads, reads[::-1]):
        assert answers(order)[0].string(False, AT, size) == text[:size]


@given(st.booleans())
def test_who_has_recorded_with_record_reads_is_not_told_to(is_wide):
    missing = MissingParts(is_wide)
    found = FiringAnswers(missing, True, lambda pid: 0)
    found.begin(RecordedFiring(0, 0, 0, THREAD, b""), "p", lambda: (AT,))
    assert found.string(True, AT, 9) is None
    ((text, remedy),) = missing.sentences()
    assert text == "the recording does not hold the string at arg0 of a firing of p"
    assert ("--record-reads" in remedy) is not is_wide
