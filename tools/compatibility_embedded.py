"""The section of docs/compatibility.md on the embedded engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

CHOSEN = Path(__file__).parent / "embedded_tests.txt"

INTRODUCTION = """
## The embedded engine

Run by an ordinary user with `--engine embedded`. `tools/embedded_tests.py` has
the rule that chooses tests that need nothing of the kernel's alone, by the
probes, variables, functions and types that their programs name;
`tools/embedded_tests.txt` has the names.
"""

CAUSES = (
    (
        r"tst\.reg_spilling|drp\.DTRACEDROP_(AGGREGATION|DYNAMIC)",
        "Does not pass with the kernel engine either, see above.",
    ),
    (
        r"profile-n/tst\.argtest",
        "Expects the kernel or a process to be interrupted by `tick-n`, which here runs in sonde.",
    ),
)
"""Why tests do not pass: a pattern of their names, and the cause; the first that matches."""

UNKNOWN = "The cause is not known."


def chosen_tests() -> tuple[list[str], list[tuple[int, str]]]:
    """The tests chosen, and how many are left out for which reason."""
    lines = CHOSEN.read_text().splitlines()
    reasons = [match for line in lines if (match := re.match(r"#\s+(\d+) (.*)", line)) and "chosen" not in line]
    return [line for line in lines if not line.startswith("#")], [(int(each[1]), each[2]) for each in reasons]


def embedded_section(verdicts: Mapping[str, str]) -> Iterator[str]:
    """The section, from the verdicts of an ordinary user's run; tests without one have not passed."""
    tests, left_out = chosen_tests()
    passed = [test for test in tests if verdicts.get(test) == "pass"]
    yield INTRODUCTION
    yield f"\n{len(passed)} of the {len(tests)} chosen tests pass, {100 * len(passed) / len(tests):.1f} %.\n"
    yield "\n| left out | because they need |\n|---:|---|\n"
    for count, reason in left_out:
        yield f"| {count} | {reason.replace(': no command', '; no command')} |\n"
    yield "\nWhat does not pass:\n"
    groups: dict[str, list[str]] = {}
    for test in sorted(set(tests) - set(passed)):
        name = "/".join(test.split("/")[-2:])
        cause = next((text for pattern, text in CAUSES if re.search(pattern, name)), UNKNOWN)
        groups.setdefault(cause, []).append(name)
    for cause in sorted(groups, key=lambda each: (each == UNKNOWN, -len(groups[each]))):
        yield f"\n{cause}\n\n" + "".join(f"- {name}\n" for name in groups[cause])
