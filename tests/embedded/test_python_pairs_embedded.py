"""The same programs in D and in Python record and count the same on the embedded engine."""

import pytest
from support.python.python_pairs import OF_KERNEL, PAIRS, results

CHOSEN = [name for name in PAIRS if name not in OF_KERNEL][::2]
"""Every second one: the kernel runs them all."""


@pytest.mark.share(0, 8)
@pytest.mark.parametrize("name", CHOSEN)
def test_both_see_the_same(name):
    text, functions = PAIRS[name]
    in_d = results(name, text, "embedded")
    records, tables, _ = in_d
    assert records or any(tables), "the program has seen nothing"
    assert results(name, functions, "embedded") == in_d
