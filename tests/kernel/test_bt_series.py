"""tseries() shows on both engines what an evaluator makes of the same values, interval by interval."""

import json
from datetime import UTC, datetime

import pytest
from support.command.command import sonde

INTERVAL, SHOWN, STEPS, STEP = 101, 7, 37, 31
"""Nanoseconds of an interval, and between two values."""

FUNCTIONS = {
    "avg": lambda values: int(sum(values) / len(values)), "max": max, "min": min, "sum": sum, "": lambda each: each[-1],
}  # fmt: skip


def value(step, key):
    return step * step % 29 - 14 + key


def evaluated(function, key):
    """The begins of the intervals that are shown, and what the values of each come to."""
    by_interval = {}
    for step in range(STEPS):
        by_interval.setdefault(step * STEP // INTERVAL, []).append(value(step, key))
    last = max(by_interval)
    return [(at * INTERVAL, FUNCTIONS[function](each)) for at, each in by_interval.items() if at > last - SHOWN]


def nanoseconds(text):
    whole, _, rest = text.partition(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()
    return int(seconds) * 1_000_000_000 + int(rest)


def _call(name, key):
    function = f', "{name}"' if name else ""
    return f"@{name or 'latest'}[{key}] = tseries($i * $i % 29 - 14 + {key}, {INTERVAL}, {SHOWN}{function});"


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_each_function_makes_of_an_interval_what_the_evaluator_does(engine, monkeypatch):
    monkeypatch.setenv("BPFTRACE_DUMMY_TS_MAP", "@clock")
    calls = [_call(name, key) for name in FUNCTIONS for key in (3, 5)]
    text = (
        f"begin {{ @clock = (uint64)0; for ($i : 0..{STEPS}) {{ @clock = (uint64)($i * {STEP}); {' '.join(calls)} }} }}"
    )
    done = sonde("bt", "-q", "--engine", engine, "-f", "json", "-e", text, "-c", "true")
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        if line["type"] == "tseries":
            found.update(line["data"])
    assert {
        name: {
            key: [(nanoseconds(one["interval_start"]), one["value"]) for one in points] for key, points in keys.items()
        }
        for name, keys in found.items()
    } == {f"@{name or 'latest'}": {str(key): evaluated(name, key) for key in (3, 5)} for name in FUNCTIONS}
