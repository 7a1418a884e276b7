"""Each aggregating function has a record, and on every floor what belongs there; nothing else knows the functions."""

import ast
import functools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d import d_aggregating
from support.d.compiled import spec
from support.source.parsed import nodes

import sonde
from sonde.codegen.records.aggregations import UPDATES
from sonde.frontends.d.check.prototypes import AGGREGATING
from sonde.frontends.d.report.histogram import CHARTS, histogram, labels_of
from sonde.library.aggregations import VALUES, value_of
from sonde.model.aggregating import EXTENT_WORDS, FUNCTIONS, HISTOGRAMS, buckets_of, zero_words
from sonde.model.aggregation_words import MASK

SOURCES = Path(sonde.__file__).parent
DOCUMENTS = SOURCES.parent.parent / "docs"

FLOORS = {
    "code (codegen/records/aggregations.py)": UPDATES,
    "a prototype in D (frontends/d/check/prototypes.py)": AGGREGATING,
    "a value for Python programs (library/aggregations.py)": VALUES,
    "an evaluator (tests/support/d/d_aggregating.py)": {each.name for each in d_aggregating.FUNCTIONS},
}

CALLS = {
    name: f"{name}({', '.join(['arg0', *constants][: 0 if name == 'count' else None])})"
    for name in FUNCTIONS
    for constants in [{"lquantize": ["-3", "20", "7"], "llquantize": ["10", "1", "2", "5"]}.get(name, [])]
}

PLACES = {
    "model/aggregating.py", "codegen/records/aggregations.py", "frontends/d/check/prototypes.py",
    "frontends/d/report/histogram.py", "library/scalars.py", "library/histograms.py",
    "__init__.py", "library/probing/aggregating.py", "frontends/python/lowering/calling.py",
}  # fmt: skip

WORDS_OF_OTHERS = {
    "frontends/d/advice/calls.py", "frontends/bpftrace/check/scope.py", "frontends/bpftrace/report/ending.py",
}  # fmt: skip
"""Says what is missing in a call without the range; what another language calls otherwise."""


def aggregation(name, keys=""):
    """The function's aggregation as the compiler describes it."""
    return spec(f"syscall::read:entry {{ @{keys} = {CALLS[name]}; }}").aggregations[0]


@pytest.mark.parametrize("floor", FLOORS)
def test_each_function_has_all_that_belongs_to_it(floor):
    assert sorted(FLOORS[floor]) == sorted(FUNCTIONS), f"each aggregating function needs {floor}"


def test_each_histogram_has_labels_and_only_they():
    assert set(CHARTS) == set(HISTOGRAMS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_is_either_a_number_or_a_histogram(name):
    function = FUNCTIONS[name]
    assert function.name == name
    assert (function.number is None) == (function.buckets is not None)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("keys", ["", "[pid, execname]"])
def test_the_compiler_takes_each_and_keeps_as_many_words(name, keys):
    made = spec(f"syscall::read:entry {{ @{keys} = {CALLS[name]}; }}")
    (described,) = made.aggregations
    function = FUNCTIONS[name]
    assert (described.function, described.words) == (name, function.size(*described.parameters))
    assert function.has_parameters(described.parameters)
    assert not function.has_parameters((*described.parameters, -1))
    (kept,) = [each for each in made.maps if each.name == described.map]
    assert described.has_extent == (name in HISTOGRAMS)
    assert kept.value_size == 8 * (
        described.words + (not keys and function.may_be_zero) + EXTENT_WORDS * described.has_extent
    )


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_nothing_is_shown_drawn_and_worth_zero(name):
    described, function = aggregation(name), FUNCTIONS[name]
    zero = zero_words(described)
    assert function.drawn.number(zero) == 0
    assert not value_of(described, zero)
    if function.number is not None:
        assert function.number(zero, 1) == 0
    else:
        assert len(buckets_of(described)) == described.words
        assert len(labels_of(described, 0, described.words - 1)) == described.words
        assert histogram(described, zero)


@pytest.mark.share(1)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@given(st.data())
def test_values_become_one_in_any_order_and_are_taken_back(name, data):
    merging = FUNCTIONS[name].merging
    size = aggregation_size(name)
    values = data.draw(st.lists(st.tuples(*[st.integers(0, MASK)] * min(size, 4)), min_size=1, max_size=4))
    values = [(*each, *(0,) * (size - len(each))) for each in values]
    whole = functools.reduce(merging.add, values)
    assert merging.total(values) == whole
    assert merging.total(values[::-1]) == whole
    assert merging.add(whole, (0,) * size) == whole
    if merging.subtract is not None:
        assert merging.subtract(merging.add(whole, values[0]), values[0]) == whole


@functools.cache
def aggregation_size(name):
    return aggregation(name).words


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_library_offers_the_type_of_each_value(name):
    assert getattr(sonde, VALUES[name].__name__) is VALUES[name]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_documents_name_each_and_its_words(name):
    assert re.search(rf"`{name}\(", (DOCUMENTS / "reference.md").read_text())
    row = re.search(rf"^\| `{name}\(.*\)` \| (.*) \|$", (DOCUMENTS / "records.md").read_text(), re.MULTILINE)
    assert row is not None
    assert row[1] == FUNCTIONS[name].layout


def test_no_other_file_knows_the_functions_by_name():
    """Those of them whose names are no words of other things, too."""
    names = {"stddev", *HISTOGRAMS}
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert found - WORDS_OF_OTHERS == PLACES
