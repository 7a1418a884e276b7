"""A program in Python is as long as the same one in D."""

import pytest
from support.python.python_pairs import OF_KERNEL, PAIRS, lengths

COMPILED = [name for name in PAIRS if name not in OF_KERNEL]


def test_there_are_thirty():
    assert len(COMPILED) >= 30


@pytest.mark.share(5)
@pytest.mark.parametrize("name", COMPILED)
def test_a_pair_is_of_equal_length(name):
    """Within 2 in 100."""
    in_d, in_python = lengths(name, "embedded")
    assert abs(in_d - in_python) <= in_d / 50
