"""A window of a file gives what bytes in memory would give, however small its blocks are."""

import os
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.symbols.elf import file_bytes
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file_bytes import FileBytes

FEW = st.binary(max_size=3).map(lambda data: bytes(each & 1 for each in data))
DATA = st.binary(max_size=200).map(lambda data: bytes(each & 1 for each in data))
PLACE = st.integers(-5, 210)


@pytest.fixture(autouse=True)
def _small_blocks():
    kept = file_bytes._WINDOW_BLOCK, file_bytes._WINDOW_BLOCKS, file_bytes._PIECE, file_bytes._NEAR
    file_bytes._WINDOW_BLOCK, file_bytes._WINDOW_BLOCKS, file_bytes._PIECE, file_bytes._NEAR = 16, 2, 32, 4
    yield
    file_bytes._WINDOW_BLOCK, file_bytes._WINDOW_BLOCKS, file_bytes._PIECE, file_bytes._NEAR = kept


def window(data, before=b"", behind=b"", costs=None):
    """Of a file that has more before it and behind it."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(before + data + behind)
        file.flush()
        return FileBytes(os.open(file.name, os.O_RDONLY), costs).window(len(before), len(data))


QUESTIONS = [
    lambda it, start, end, wanted: it[start:end],
    lambda it, start, end, wanted: it[start:],
    lambda it, start, end, wanted: it[start],
    lambda it, start, end, wanted: it.find(wanted, max(start, 0), max(end, 0)),
    lambda it, start, end, wanted: it.find(wanted),
    lambda it, start, end, wanted: it.rfind(wanted, max(start, 0), max(end, 0)),
    lambda it, start, end, wanted: it.index(1, max(start, 0)),
    lambda it, start, end, wanted: it.startswith(wanted, max(start, 0)),
]


def answer(question, *given):
    try:
        return question(*given)
    except (IndexError, ValueError) as error:
        return type(error)


@given(DATA, FEW, st.lists(st.tuples(st.sampled_from(QUESTIONS), PLACE, PLACE, FEW), min_size=1, max_size=20))
def test_it_is_as_bytes(data, before, questions):
    found = window(data, before, b"\1\0\1")
    assert len(found) == len(data)
    for question, start, end, few in questions:
        given = start, end, few + b"\1"
        assert answer(question, found, *given) == answer(question, data, *given)


def test_what_is_cut_off_is_zeros(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\1" * 100)
    found = FileBytes(os.open(path, os.O_RDONLY)).window(0, 100)
    os.truncate(path, 10)
    assert found[99] == 0
    assert found.find(b"\1", 50) == -1


def test_a_search_ends_when_its_time_is_over(tmp_path):
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 512 << 30)
    costs = Costs(seconds=0.05)
    found = FileBytes(os.open(path, os.O_RDONLY), costs).window(0, 512 << 30)
    with costs, pytest.raises(CostError, match="more than 2 seconds"):
        found.find(b"\1")
    assert costs.reason


def test_what_is_kept_has_a_bound_and_can_be_given_back():
    costs = Costs(size=100)
    costs.take(60)
    costs.give_back(30)
    costs.take(70)
    with pytest.raises(CostError, match="more than 256 MiB"):
        costs.take(1)
    # It was given up: what is asked later is refused at once.
    with pytest.raises(CostError):
        costs.check()


def test_time_counts_only_while_an_object_is_read_and_answers_are_worth_some():
    costs = Costs(seconds=0.0)
    costs.check()
    costs.allow(1000)
    with costs:
        costs.check()
    costs.allow(-1000)
    with costs, pytest.raises(CostError):
        costs.check()


def test_what_is_kept_of_a_file_is_known_and_goes_with_the_window():
    costs = Costs()
    it = window(bytes(100), before=bytes(3), costs=costs)
    for at in (0, 90, 40, 91):
        assert it[at] == 0
        assert costs.buffered == sum(map(len, it._blocks.values()))
        assert 0 < costs.buffered <= 32
    it = None
    assert costs.buffered == 0
