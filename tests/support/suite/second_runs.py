"""The tests that passed only in their second run, at the end of a run, and how often that was so lately."""

from collections import Counter

KEY = "sonde/second_runs"
"""In pytest's cache: for each of the last runs the tests, the newest last."""

RUNS = 5
TOO_OFTEN = 2
"""Runs of the last RUNS after which a test has to be mended."""


def lines(runs):
    """What is reported of the last of these runs, each a list of tests."""
    counts = Counter(test for run in runs for test in set(run))
    for test in sorted(set(runs[-1])):
        often = f" ({counts[test]} of the last {len(runs)} runs: mend it)" if counts[test] >= TOO_OFTEN else ""
        yield f"{test}{often}"


def pytest_terminal_summary(terminalreporter, config):
    if not getattr(config.option, "reruns", 0):
        return
    tests = [report.nodeid for report in terminalreporter.stats.get("rerun", [])]
    cache = getattr(config, "cache", None)
    runs = [*(cache.get(KEY, []) if cache else []), tests][-RUNS:]
    if cache:
        cache.set(KEY, runs)
    terminalreporter.section(f"second runs: {len(set(tests))}")
    for line in lines(runs):
        terminalreporter.line(line)
