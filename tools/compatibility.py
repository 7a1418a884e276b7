"""Write docs/compatibility.md from the results of DTrace's own test suite.

    python3 tools/compatibility.py RESULT.json ... --tests LIST --logs DIRECTORY

A result is the JSON that the suite's runner writes: "verdicts" has a verdict for each test, "reasons" says why one did
not pass. LIST names the tests, one a line; those with the word `vacuous` behind a `#`, which pass even for a program
that prints nothing, are left out. DIRECTORY has a log for each test that failed, named after it with `/` as `__`:
without it the failures are not grouped by cause.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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

DIFFERENCES = """\
## Different on purpose

**Arithmetic is C's.** Operands narrower than `int` are promoted to it, the
usual conversions give both the same type, and a result is converted where it
is assigned: `(char)100 + (char)100` is 200. DTrace on Linux computes some of
these in the narrow type. Division and remainder truncate toward zero.

**32-bit system calls have probes of their own**, in the module `ia32`, named
by the 32-bit table; DTrace for Linux does not list them. A call is never
taken for the one that has its number in the other table. A description that
names calls, be it by a pattern, and no module means the 64-bit ones.

**Nothing is lost by clear() and trunc().** They take back exactly what was
printed with them; increments made meanwhile, on any CPU, are kept. The price:
keys that were cleared stay in the kernel until `trunc()` or the end.

**A full buffer costs the record and nothing else.** The clause's
assignments, aggregations and `exit()` happen, and the record is counted as a
drop on its CPU.

**Records are in order.** There is one ring for all CPUs by default
(`-xrings=cpu` gives each its own), so lines need no sorting by time.

**aggsize counts what the kernel uses**, overhead included, and `bufsize` is
rounded up to a power of two.

**Losses are summed up at the end**, with `-q` too. One message is new:
`N nested firing drops`, for firings within firings deeper than three levels.

**`pid`, `tid` and `ppid` are those of sonde's own pid namespace**, so that in a
container they are the numbers `ps` shows there.

**Elements of an array in `self->` cannot be inherited**: they belong to the
thread, not to its number, which the kernel gives to a later thread again.

**Mistakes are shown.** Below DTrace's message stand the line, a mark under the
place, and often what helps. `_DTRACE_TESTING` in the environment leaves
that out.

**Probe identifiers do not depend on what was asked before**: a probe has the same
number in `-l`, with `-i` and in the output, as long as the kernel runs.
"""

GROUPS = (
    (r"(speculation|speculate|commit|discard)\(\) is not supported", "Speculations: not there yet"),
    (r"(alloca|bcopy|copyinto)\(\) is not supported", "The memory of alloca(), and what writes to it: not there yet"),
    (r"(\w+)\(\) is not supported by this engine", "Other subroutines and actions that are not there yet"),
    (
        r"resolve (curpsinfo|curlwpsinfo|cwd|root|fds)",
        "The variables curpsinfo, curlwpsinfo and the like: not there yet",
    ),
    (r"resolve (AF_|ARPHRD_|IPPROTO_)|ipaddr_t|in6_addr", "Network types and constants of libraries: not there yet"),
    (r"(probe description|match|D_PROC_\w+).* pid\d+:|\bpid\d+:", "Probes of pid: not there yet"),
    (r"(description|match) (proc|sched|io|ip|tcp|udp|lockstat|cpc|fbt)\b", "Providers that are not there yet"),
    (r"^timed out", "Too slow, or never ending"),
)
"""Causes, the first that matches a failure's log is its cause."""

REST = "Other causes"


class Tally(NamedTuple):
    passed: int
    total: int

    def __str__(self) -> str:
        return f"{self.passed} of {self.total}" if self.total else ""

    @property
    def percent(self) -> str:
        return f"{100 * self.passed / self.total:.0f} %" if self.total else "-"


def vacuous_tests(path: str | None) -> set[str]:
    """The tests of a list that are marked so."""
    lines = Path(path).read_text().splitlines() if path else []
    return {line.split()[0] for line in lines if "vacuous" in line.partition("#")[2].split()}


def kind(test: str) -> str:
    """`err` or `tst`."""
    return test.rsplit("/", 1)[1].partition(".")[0]


def directory(test: str) -> str:
    return test.split("/")[2] if test.count("/") > 2 else test.split("/")[1]


def tally(verdicts: Mapping[str, str], tests: Sequence[str]) -> Tally:
    return Tally(sum(verdicts[test] == "pass" for test in tests), len(tests))


def passes(verdicts: Mapping[str, str]) -> Iterator[str]:
    """The two tables of passes."""
    kinds = {name: [test for test in verdicts if kind(test) == name] for name in ("err", "tst")}
    yield "## Passes\n\n| tests | passes | |\n|---|---:|---:|\n"
    for name, tests in kinds.items():
        found = tally(verdicts, tests)
        yield f"| `{name}.*` | {found} | {found.percent} |\n"
    yield "\nBy directory:\n\n| directory | `err.*` | `tst.*` |\n|---|---:|---:|\n"
    for each in sorted({directory(test) for test in verdicts}):
        cells = [tally(verdicts, [test for test in tests if directory(test) == each]) for tests in kinds.values()]
        yield f"| {each} | {' | '.join(map(str, cells))} |\n"


def log_of(test: str, logs: Path) -> str:
    found = sorted(logs.glob(f"{test.replace('/', '__')}.*"))
    return found[0].read_text(errors="replace") if found else ""


def cause(test: str, reason: str, logs: Path) -> str:
    said = [line for line in log_of(test, logs).splitlines() if line.startswith("dtrace: ")]
    text = "\n".join([reason, *said])
    return next((name for pattern, name in GROUPS if re.search(pattern, text, re.MULTILINE)), REST)


def failures(verdicts: Mapping[str, str], reasons: Mapping[str, str], logs: Path) -> Iterator[str]:
    """What fails, by cause, the most frequent first and the unexplained last."""
    groups: dict[str, list[str]] = {}
    for test in sorted(test for test, verdict in verdicts.items() if verdict != "pass"):
        groups.setdefault(cause(test, reasons.get(test, ""), logs), []).append(test)
    yield "\n## What does not pass\n"
    order = sorted(groups, key=lambda name: (name == REST, -len(groups[name])))
    for name in order:
        names = ", ".join(f"{directory(test)}/{test.rsplit('/', 1)[1]}" for test in groups[name])
        wrapped = textwrap.fill(names, 79, break_long_words=False, break_on_hyphens=False)
        yield f"\n**{name}** ({len(groups[name])})\n\n{wrapped}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/compatibility.md")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--tests")
    parser.add_argument("--logs")
    arguments = parser.parse_args()
    verdicts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for path in arguments.results:
        result = json.loads(Path(path).read_text())
        verdicts |= result["verdicts"]
        reasons |= result["reasons"]
    for test in vacuous_tests(arguments.tests):
        verdicts.pop(test, None)
    verdicts = {test: verdict for test, verdict in verdicts.items() if kind(test) in ("err", "tst")}
    parts = [INTRODUCTION, "\n", *passes(verdicts)]
    if arguments.logs:
        parts += failures(verdicts, reasons, Path(arguments.logs))
    TARGET.write_text("".join([*parts, "\n", DIFFERENCES]))


if __name__ == "__main__":
    main()
