#!/usr/bin/env python3
"""Write the section of docs/bpftrace.md on bpftrace's own tests from their verdicts.

    python3 tools/bpftrace_suite.py RESULT.json ...

A result is the JSON that the suite's runner writes: `verdicts` has for each test, FILE.NAME, "pass", "fail" or "skip",
`reasons` why it is no pass. Of several results, each of another kernel, the best verdict counts for each test.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "bpftrace.md"
HEADING = "## bpftrace's own tests\n"
INTRODUCTION = """\
The tests of bpftrace's repository (below `tests/runtime`, not kept here), by their
files; `tools/bpftrace_suite.py` makes this table from their verdicts. Tests that cannot
run where the table was made need what that machine's kernel or its packages lack.
"""
_RANKS = {"pass": 0, "fail": 1, "skip": 2}
_WIDTH = 88


class Verdict(NamedTuple):
    """`reason` is "" for what passes."""

    word: str
    reason: str


def verdicts(results: Iterable[Mapping[str, Mapping[str, str]]]) -> dict[str, Verdict]:
    """The best of each test."""
    best: dict[str, Verdict] = {}
    for result in results:
        for test, word in result["verdicts"].items():
            found = Verdict(word, result["reasons"].get(test, ""))
            if test not in best or _RANKS[word] < _RANKS[best[test].word]:
                best[test] = found
    return best


def section(tests: Mapping[str, Verdict]) -> Iterator[str]:
    """Its lines."""
    files: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for test, verdict in tests.items():
        files[test.partition(".")[0]][verdict.word] += 1
    total = sum(files.values(), collections.Counter())
    yield from (HEADING.rstrip(), "", *INTRODUCTION.splitlines(), "")
    yield from ("| file | pass | fail | cannot run |", "|---|---|---|---|")
    for name, counts in sorted(files.items()):
        yield _row(f"`{name}`", counts)
    yield from (_row("all", total), "")
    failing = [test.partition(".") for test, verdict in tests.items() if verdict.word == "fail"]
    yield from ("Those that fail:", "")
    for file in sorted({file for file, _, _ in failing}):
        yield from _named(f"- `{file}`:", [name for of, _, name in failing if of == file], "  ")
    yield ""
    lacking = collections.Counter(
        re.sub(r"^feature (\w+)$", r"`\1`", verdict.reason) for verdict in tests.values() if verdict.word == "skip"
    )
    yield from _named("What is lacking, and for how many:", [f"{reason} {count}" for reason, count in lacking.items()])


def _row(name: str, counts: Mapping[str, int]) -> str:
    return f"| {name} | {counts['pass']} | {counts['fail'] or ''} | {counts['skip'] or ''} |"


def _named(what: str, names: list[str], indentation: str = "") -> list[str]:
    text = f"{what} {'; '.join(sorted(names))}."
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indentation, break_on_hyphens=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="+", type=Path)
    results = [json.loads(path.read_text(encoding="utf-8")) for path in parser.parse_args().results]
    before, _, behind = PAGE.read_text(encoding="utf-8").partition(HEADING)
    _, next_heading, rest = behind.partition("\n## ")
    text = "\n".join(section(verdicts(results)))
    PAGE.write_text(f"{before.rstrip()}\n\n{text.rstrip()}\n{next_heading}{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
