"""Write docs/compatibility.md from the results of DTrace's own test suite.

    python3 tools/compatibility.py RESULT.json ... --tests LIST --embedded RESULT.json
    python3 tools/compatibility.py --scripts RESULT.json

A result is the JSON that the suite's runner writes: "verdicts" has a verdict for each test. LIST names the tests, one a
line; those with the word `vacuous` behind a `#`, which pass even for a program that prints nothing, are left out. The
result behind --embedded is that of the tests of tools/embedded_tests.txt: an ordinary user's, with --engine embedded.
The result of tools/public_scripts.py makes one section anew, and leaves the others; without it that section is kept. So
is, always, the last section, on differences, which is written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from compatibility_embedded import embedded_section
from compatibility_scripts import HEADING, replace_section, scripts_section

TARGET = Path(__file__).parent.parent / "docs" / "compatibility.md"

INTRODUCTION = """\
# Compatibility

sonde runs D programs written for DTrace and answers as DTrace for Linux does:
options, messages, exit statuses and output layouts are those of its version
2.0. DTrace's own test suite (the repository oracle/dtrace-utils) is the
measure. `tools/compatibility.py` writes this page from the suite's results.

Only tests that pass because they should are counted: an expected failure or a
skipped test is no pass, and tests that pass even for a program that prints
nothing are left out. `err.*` tests are programs that must be refused, or
fail, in a certain way; `tst.*` tests must run, most of them with a certain
output.
"""

DIFFERENCES = "## Different on purpose"
"""The heading of the last section, which is written by hand and kept as it is."""

CAUSES = (
    (
        r"tst\.reg_spilling",
        "The values are right. The heading it expects has one blank more than those of all other tests.",
    ),
    (
        r"drp\.DTRACEDROP_(AGGREGATION|DYNAMIC)",
        "Expects four elements not to fit a tiny `aggsize` or `dynvarsize`, as if each string in them took `strsize`. "
        "Here an element takes what its own strings need, so they fit. The variables of a thread take no `dynvarsize`.",
    ),
    (
        r"tst\.switchrate",
        "Takes 17 seconds and its start-up by design, and was stopped by the time limit of this run.",
    ),
)
"""Why tests do not pass: a pattern of their names, and the cause; the first that matches."""

UNKNOWN = "The cause is not known."

KINDS = {
    "err": "programs that must be refused, or fail, in a certain way",
    "tst": "programs that must run, most of them with a certain output",
    "drp": "programs that must lose something, and say so",
    "": "programs that must compile",
}


class Tally(NamedTuple):
    passed: int
    total: int

    def __str__(self) -> str:
        return f"{self.passed} of {self.total}" if self.total else ""

    @property
    def percent(self) -> str:
        return f"{100 * self.passed / self.total:.1f} %" if self.total else "-"


def vacuous_tests(path: str | None) -> set[str]:
    """The tests of a list that are marked so."""
    lines = Path(path).read_text().splitlines() if path else []
    return {line.split()[0] for line in lines if "vacuous" in line.partition("#")[2].split()}


def kind(test: str) -> str:
    """`err`, `tst` or `drp`; "" for a test whose name has no such beginning."""
    first = test.rsplit("/", 1)[1].partition(".")[0]
    return first if first in KINDS else ""


def directory(test: str) -> str:
    return test.split("/")[2] if test.count("/") > 2 else test.split("/")[1]


def tally(verdicts: Mapping[str, str], tests: Sequence[str]) -> Tally:
    return Tally(sum(verdicts[test] == "pass" for test in tests), len(tests))


def passes(verdicts: Mapping[str, str]) -> Iterator[str]:
    """The two tables of passes."""
    kinds = {name: [test for test in verdicts if kind(test) == name] for name in KINDS}
    yield "## Passes\n\n| tests | | passes | |\n|---|---|---:|---:|\n"
    for name, tests in kinds.items():
        found = tally(verdicts, tests)
        yield f"| {f'`{name}.*`' if name else 'others'} | {KINDS[name]} | {found} | {found.percent} |\n"
    whole = tally(verdicts, list(verdicts))
    yield f"| all | | {whole} | {whole.percent} |\n"
    shown = ("err", "tst")
    yield "\nBy directory:\n\n| directory | `err.*` | `tst.*` |\n|---|---:|---:|\n"
    for each in sorted({directory(test) for test in verdicts if kind(test) in shown}):
        cells = [tally(verdicts, [test for test in kinds[name] if directory(test) == each]) for name in shown]
        yield f"| {each} | {' | '.join(map(str, cells))} |\n"


def short(test: str) -> str:
    """The last directory and the name."""
    return f"{directory(test)}/{test.rsplit('/', 1)[1]}"


def cause(test: str) -> str:
    return next((text for pattern, text in CAUSES if re.search(pattern, short(test))), UNKNOWN)


def failures(verdicts: Mapping[str, str]) -> Iterator[str]:
    """What does not pass, by cause, the most frequent first and the unexplained last."""
    groups: dict[str, list[str]] = {}
    for test in sorted(test for test, verdict in verdicts.items() if verdict != "pass"):
        groups.setdefault(cause(test), []).append(short(test))
    yield "\n## What does not pass\n"
    for text in sorted(groups, key=lambda each: (each == UNKNOWN, -len(groups[each]))):
        wrapped = textwrap.fill(text, 79, break_long_words=False, break_on_hyphens=False)
        yield f"\n{wrapped}\n\n" + "".join(f"- {name}\n" for name in groups[text])


def suite_page(results: Sequence[str], tests: str | None, embedded_result: str, old: str) -> str:
    """The page without the section on published scripts; that on differences is of the old page."""
    verdicts: dict[str, str] = {}
    for path in results:
        verdicts |= json.loads(Path(path).read_text())["verdicts"]
    for test in vacuous_tests(tests):
        verdicts.pop(test, None)
    embedded = json.loads(Path(embedded_result).read_text())["verdicts"]
    parts = [INTRODUCTION, "\n", *passes(verdicts), *failures(verdicts), *embedded_section(embedded)]
    return "".join([*parts, "\n", old[old.index(DIFFERENCES) :]])


def kept_section(page: str) -> str:
    """The section on published scripts that a page has."""
    _, found, rest = page.partition(HEADING)
    return found + rest[: rest.index("\n## ")] if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/compatibility.md")
    parser.add_argument("results", nargs="*")
    parser.add_argument("--tests")
    parser.add_argument("--embedded")
    parser.add_argument("--scripts")
    arguments = parser.parse_args()
    old = TARGET.read_text()
    if bool(arguments.results) != bool(arguments.embedded) or not (arguments.results or arguments.scripts):
        parser.error("results of the suite and --embedded belong together; without them there is --scripts")
    page = suite_page(arguments.results, arguments.tests, arguments.embedded, old) if arguments.results else old
    section = "".join(scripts_section(Path(arguments.scripts))) if arguments.scripts else kept_section(old)
    TARGET.write_text(replace_section(page, section) if section else page)


if __name__ == "__main__":
    main()
