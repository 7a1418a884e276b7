"""--test and --bench of bt: which tests pass, what is shown of them, and what is measured."""

import json
import re

import pytest
from support.command.command import sonde

ENGINES = ("kernel", "embedded")
TESTS = """
    begin { @before = 5; }
    test:passes { print("hidden"); return 0; }
    test:returns { print("shown"); return 1; }
    test:exits { exit(); }
    test:exits_badly { exit(3); }
    test:complains { errorf("no %d", 5); }
    test:depends { assert(@before == 5, "begin comes before"); }
    interval:ms:1 { print("never"); }
    end { print("last"); }
"""
PASS = {"passes": True, "returns": False, "exits": True, "exits_badly": False, "complains": False, "depends": True}


def plain(text):
    return re.sub(r"\x1b\[\d+m", "", text)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_test_passes_that_returns_nothing_and_complains_of_nothing(engine):
    done = sonde("bt", "--engine", engine, "--test", "-e", TESTS, status=1)
    lines = plain(done.stdout).splitlines()
    verdicts = {m[2]: m[1] == "OK" for line in lines if (m := re.match(r"\[ +(OK|FAILED) +\] (\w+) \(", line))}
    assert verdicts == PASS
    assert lines[lines.index("[ RUN      ] returns") + 1] == "shown"
    assert "hidden" not in lines
    assert "never" not in lines
    assert "last" in lines
    assert "[  PASSED  ] 3 tests." in lines
    assert any(line.endswith("ERROR: no 5") for line in lines)


def test_all_pass_is_no_failure():
    assert "1 test ran." in sonde("bt", "--mode", "test", "-e", "test:a { }").stdout


def test_results_are_objects():
    done = sonde("bt", "-f", "json", "--test", "-e", TESTS, status=1)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    results = [each["data"] for each in found if each["type"] == "test_result"]
    assert {name: each["passed"] for data in results for name, each in data.items()} == PASS


def test_what_is_measured_takes_longer_for_more():
    text = """bench:short { @n = count(); }
              bench:long { for ($i : 0..500) { @n = count(); } }
              bench:left_out { return 1; } bench:prints { printf("%d", pid); }"""
    rows = [line.split() for line in sonde("bt", "--bench", "-e", text).stdout.splitlines() if line.strip()]
    assert rows[0] == ["Benchmark", "Time(ns)", "Iterations"]
    times = {name: int(time) for name, time, _ in rows[2:]}
    assert list(times) == ["short", "long", "prints"]
    assert times["long"] > 20 * times["short"]


def test_a_failing_measurement_is_told():
    done = sonde("bt", "--bench", "-e", 'bench:bad { errorf("bad"); } bench:good { }', status=1)
    assert "Benchmark 'bad' failed." in done.stdout
    assert re.search(r"^good +\d+ +\d+$", done.stdout, re.MULTILINE)


def test_they_are_no_part_of_the_program_else():
    done = sonde("bt", "-e", 'test:a { print("never"); } begin { print("once"); }')
    assert done.stdout.split() == ["once"]
    alone = sonde("bt", "-e", "bench:a { }", status=1)
    assert "use --bench to run benchmark probes" in alone.stderr


def test_the_embedded_engine_measures_nothing():
    done = sonde("bt", "--engine", "embedded", "--bench", "-e", "bench:a { }", status=1)
    assert "--engine kernel" in done.stderr
