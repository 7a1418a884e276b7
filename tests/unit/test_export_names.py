"""Names of metrics and labels: valid, different, and never those of another metric's samples."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sonde.library.export.names import SUFFIXES, MetricNames, label_names

VALID = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
WORDS = st.one_of(st.text(max_size=80), st.sampled_from(["", "_", "le", "quantile", "__name__", "args[0]->pr_fname"]))
NAMES = st.text("ab_", min_size=1, max_size=4) | st.builds("a{}".format, st.sampled_from(SUFFIXES))


def test_labels_are_the_source_texts_of_keys():
    assert label_names(["execname", "args[0]->pr_fname", "", "pid / 2", "9", "pid/2"]) == (
        "execname", "args_0_pr_fname", "key2", "pid_2", "key_9", "pid_2_2",
    )  # fmt: skip


@given(st.lists(WORDS, max_size=6))
def test_labels_are_valid_and_different(parts):
    made = label_names(parts)
    assert len(set(made)) == len(parts)
    assert all(VALID.fullmatch(each) and each not in ("le", "quantile") for each in made)


@given(st.lists(st.tuples(NAMES, st.booleans()), max_size=8))
def test_no_sample_of_a_metric_has_the_name_of_another_s(given_names):
    names = MetricNames("sonde", ["sonde_export"])
    made = [names.name(*each) for each in given_names]
    samples = [{name + suffix for suffix in SUFFIXES} for name in [*made, "sonde_export"]]
    assert all(VALID.fullmatch(each) for each in made)
    assert len(set().union(*samples)) == len(SUFFIXES) * len(samples)
