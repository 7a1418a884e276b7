"""The same programs in D and in Python record and count the same in the kernel."""

import pytest
from support.python.python_pairs import PAIRS, lengths, results


@pytest.mark.share(1, 16)
@pytest.mark.parametrize("name", PAIRS)
def test_both_see_the_same(name):
    text, functions = PAIRS[name]
    in_d = results(name, text, "kernel")
    records, tables, _ = in_d
    assert records or any(tables), "the program has seen nothing"
    assert results(name, functions, "kernel") == in_d


@pytest.mark.long
def test_they_are_of_equal_length_for_the_kernel():
    """Within 2 in 100."""
    found = {name: lengths(name, "kernel") for name in PAIRS}
    assert {name: both for name, both in found.items() if abs(both[0] - both[1]) > both[0] / 50} == {}
