"""Histograms of any parameters, and the bucket of each value, from docs/records.md."""

from bisect import bisect_right

from hypothesis import strategies as st

from sonde.model.aggregating import FUNCTIONS

HISTOGRAMS = st.one_of(
    st.just(("quantize", ())),
    st.integers(1, 5).map(lambda bits: ("quantize", (bits,))),
    st.tuples(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 9)).map(
        lambda each: ("lquantize", (each[0], each[0] + each[1] * each[2], each[2]))
    ),
    st.tuples(st.integers(2, 10), st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)).map(
        lambda each: ("llquantize", (each[0], each[1], each[1] + each[2], each[0] * each[3]))
    ),
)
"""Names and parameters."""


def bucket_of(name, parameters, value):
    """The number of the bucket that counts a value."""
    made = FUNCTIONS[name].buckets
    lows = [each.low for each in made(*parameters)]
    return bisect_right(lows[1:], value) if lows[0] is None else bisect_right(lows, value) - 1
