"""Percentiles of what programs have counted, on both engines, in saved scripts and in files of records."""

import random
import subprocess
import sys

import pytest

import sonde

ENGINES = ["kernel", "embedded"]
NAMES = {
    "q": "quantize({})", "w": "quantize({}, 2)", "l": "lquantize({}, -50, 130, 20, 3)",
    "m": "llquantize({}, 10, 0, 6, 20)",
}  # fmt: skip
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
FIRST, LATER = [7, 20400, -3], [30000, -1]


def numbers(seed):
    chance = random.Random(seed)
    edges = chance.sample([LEAST, GREATEST, 0, -1, 20400, 1 << 62], chance.randint(0, 3))
    return [*edges, *(chance.randint(-(10 ** chance.randint(1, 18)), 10**18) for _ in range(chance.randint(1, 5)))]


def counting(values, names="qwlm"):
    """Statements that count the values."""
    each = [(name, f"((long){value & (1 << 64) - 1:#x}UL)") for value in values for name in names]
    return " ".join(f'@{name}["k"] = {NAMES[name].format(value)};' for name, value in each)


def final(script, engine):
    with script.run(engine=engine) as run:
        for _ in run:
            pass
    return {name: found["k"] for name, found in run.aggregations.items() if found}


def require_extremes(histogram, least, greatest):
    found = [histogram.percentile(percent) for percent in range(101)]
    assert (found[0], found[-1]) == (least, greatest)
    assert found == sorted(found)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_least_and_the_greatest_value_are_the_ends(engine):
    values = numbers(engine)
    found = final(sonde.compile(f"BEGIN {{ {counting(values)} exit(0); }}"), engine)
    assert sorted(found) == sorted(NAMES)
    for histogram in found.values():
        require_extremes(histogram, min(values), max(values))


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_any_values_are_between_the_ends(engine, seed):
    values = numbers(seed)
    found = final(sonde.compile(f"BEGIN {{ {counting(values)} exit(0); }}"), engine)
    for histogram in found.values():
        require_extremes(histogram, min(values), max(values))


@pytest.mark.parametrize("engine", ENGINES)
def test_after_a_clear_and_after_a_trunc(engine):
    """A trunc replaces the map, and a clear does where there is a trunc: all that remains are the values from then on.
    END fires when the consumer has read all that was recorded before."""
    removed = "clear(@q); clear(@w); trunc(@l); clear(@m); trunc(@m, 5);"
    text = f"BEGIN {{ {counting(FIRST)} {removed} exit(0); }} END {{ {counting(LATER)} }}"
    found = final(sonde.compile(text), engine)
    for name in "lm":
        assert found[name].extent == (min(LATER), max(LATER))
        require_extremes(found[name], min(LATER), max(LATER))
    for name in "qw":
        # Those of the buckets' ends that are between the extremes of all.
        assert found[name].extent == (min(FIRST), max(LATER))
        assert min(FIRST) <= found[name].percentile(0) <= found[name].percentile(100) == max(LATER)


def test_files_have_them(tmp_path):
    text = f"BEGIN {{ {counting(FIRST, 'q')} exit(0); }}"
    sonde.compile(text, engine="embedded").save(str(tmp_path / "spec"))
    require_extremes(final(sonde.load(str(tmp_path / "spec")), "embedded")["q"], min(FIRST), max(FIRST))
    command = [sys.executable, "-m", "sonde", "--engine", "embedded", "--raw", tmp_path / "raw", "-q", "-n", text]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (table,) = [each for each in sonde.read(str(tmp_path / "raw")) if hasattr(each, "rows")]
    ((histogram,),) = table.rows.values()
    require_extremes(histogram, min(FIRST), max(FIRST))
