"""The section of docs/compatibility.md on published scripts, from what tools/public_scripts.py has found."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from public_scripts_causes import CAUSES, SIMILAR, UNEXPLAINED

HEADING = "## Published scripts"

INTRODUCTION = f"""\
{HEADING}

The DTraceToolkit (github.com/opendtrace/toolkit) and the scripts of the book
*DTrace* (github.com/brendangregg/DTrace-book-scripts) were written for Solaris,
Mac OS X and FreeBSD. `tools/public_scripts.py` compiles each, as it is and then
with `-Z`, and runs for a moment those that compile, with a small workload.
"""

_SHOWN = 12


def scripts_section(path: Path) -> Iterator[str]:
    document = json.loads(path.read_text())
    results, wrappers = document["results"], set(document["wrappers"])
    programs = [each for each in results if each["name"] not in wrappers]
    shells = [each for each in results if each["name"] in wrappers]
    yield INTRODUCTION
    yield f"\n| | {len(programs)} scripts of D | {len(shells)} wrappers in other languages |\n|---|---:|---:|\n"
    for text, holds in _OUTCOMES.items():
        yield f"| {text} | {sum(map(holds, programs))} | {sum(map(holds, shells))} |\n"
    yield from _causes(results)
    yield from _stopped(results)


_OUTCOMES = {
    "compile, all that they name is there": lambda r: r["compiles"] != "no" and not r["failures"],
    "compile, some of their probes are not there": lambda r: r["compiles"] != "no" and bool(r["failures"]),
    "do not compile": lambda r: r["compiles"] == "no",
    "of those that compile, run": lambda r: r["run"] == "runs",
}


def _first(result: dict[str, Any]) -> str:
    """The cause that a script is counted under."""
    causes = {each["cause"] for each in result["failures"]}
    return next(each for each in (UNEXPLAINED, *CAUSES) if each in causes)


def _causes(results: list[dict[str, Any]]) -> Iterator[str]:
    lacking = [each for each in results if each["failures"]]
    yield "\nWhat scripts name that is missing; each is counted once.\n"
    yield "\n| what is missing | scripts | do not compile |\n|---|---:|---:|\n"
    by_cause = Counter(map(_first, lacking))
    stopped = Counter(_first(each) for each in lacking if each["compiles"] == "no")
    for cause, count in by_cause.most_common():
        yield f"| {cause} | {count} | {stopped[cause]} |\n"
    yield "\nWhat is missing most often, by the number of scripts:\n"
    for cause in (each for each in CAUSES if each in by_cause):
        names = Counter(
            name for each in lacking for name in {_short(f["name"]) for f in each["failures"] if f["cause"] == cause}
        )
        most = sorted(names.items(), key=lambda each: (-each[1], each[0]))[:_SHOWN]
        listed = ", ".join(f"{_code(name)} {count}" for name, count in most)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        text = f"- {cause}: {listed}{more}"
        yield (
            "\n"
            + textwrap.fill(text, 79, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            + "\n"
        )


def _stopped(results: list[dict[str, Any]]) -> Iterator[str]:
    stopped = [each for each in results if each["compiles"] != "no" and each["run"] != "runs"]
    if stopped:
        yield "\nCompile and do not run:\n\n"
    for each in stopped:
        said = [line for line in each["messages"].splitlines() if line.startswith("dtrace: ")]
        why = said[-1].removeprefix("dtrace: ") if said else each["run"]
        text = f"- {each['name'].partition('/')[2]}: {why}"
        yield textwrap.fill(text, 79, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


def _code(name: str) -> str:
    """Without the backquote of kernel data."""
    return f"`{name.lstrip('`')}`"


def _short(name: str) -> str:
    """A description without what does not matter: the provider of a static probe, the function of another. The
    number of a process is that of `$target`."""
    fields = re.sub(r"^(pid|objc)[0-9]+", r"\1$target", name).split(":")
    if len(fields) != 4:
        return name
    provider, _, function, _ = fields
    if provider == "fbt" and function:
        return function
    return f"{provider}:::" if provider not in SIMILAR and re.search(r"[*0-9]$", provider) else ":".join(fields)


def replace_section(page: str, section: str) -> str:
    """The page with its section on scripts, or that in front of the one on differences, made anew."""
    before, found, rest = page.partition(HEADING)
    if found:
        after = rest[rest.index("\n## ") :]
        return f"{before}{section}{after}"
    before, heading, after = page.partition("## Different on purpose")
    return f"{before}{section}\n{heading}{after}"
