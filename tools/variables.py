"""Compare the variables that sonde names with gdb, in programs of C, C++ and Rust, and count what it cannot fetch.

    python3 tools/variables.py [--write]

Each program of tests/programs is compiled without and with optimisation and run under gdb, which stops twice at every
place where it would break for a line. The table that is printed goes into docs/variables.md with --write. Ends with
status 1 if a value differs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "unit")]

from compiled_objects import SOURCES, compiled  # noqa: E402
from gdb_comparison import compared  # noqa: E402

FLAGS = {
    "c": (("-O0",), ("-O2",), ("-O3",)),
    "c++": (("-O0",), ("-O2",), ("-O3",)),
    "rust": tuple(("-C", f"opt-level={level}") for level in (0, 2, 3)),
    "clang": (("-O0",), ("-O2",), ("-O3",)),
    "clang++": (("-O0",), ("-O2",), ("-O3",)),
}
BEGIN, END = "<!-- begin of what tools/variables.py writes -->\n", "<!-- end of what tools/variables.py writes -->\n"
HEAD = (
    "| program | compiled with | points | pairs | in lists or copies | wrong | not fetched | share |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def row(language: str, flags: tuple[str, ...], results: list[dict[str, Any]]) -> tuple[str, Counter[str]]:
    """A row of the table: pairs are (point, variable) with a value in gdb, structures counted by their scalars."""
    pairs = [each for each in results if each["gdb"] is not None]
    beyond = [each for each in pairs if each["sonde"] is None or each["obstacle"]]
    counts = Counter(
        points=len({each["pc"] for each in pairs}),
        pairs=len(pairs),
        lists=sum(each["list"] or each["is_inlined"] for each in pairs),
        wrong=sum(each["sonde"] not in (None, each["gdb"]) for each in pairs),
        beyond=len(beyond),
    )
    name, _, (compiler, *_) = SOURCES[f"{language} variables"]
    return line(name, " ".join((compiler, *flags)), counts), counts


def line(program: str, flags: str, counts: Counter[str]) -> str:
    share = 100 * counts["beyond"] / max(counts["pairs"], 1)
    cells = [program, flags, *(str(counts[each]) for each in ("points", "pairs", "lists", "wrong", "beyond"))]
    return f"| {' | '.join(cells)} | {share:.1f} % |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="compare the values of variables with gdb's")
    parser.add_argument("--write", action="store_true", help="put the table into docs/variables.md")
    arguments = parser.parse_args()
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    table = HEAD
    for language, variants in FLAGS.items():
        name = f"{language} variables"
        if not shutil.which(SOURCES[name][2][0]):
            print(f"{SOURCES[name][2][0]} is not installed")
            return 2
        for flags in variants:
            results = compared(compiled(*flags, language=name), SOURCES[name][0])
            text, counts = row(language, flags, results)
            table += text
            total += counts
            reasons.update(
                each["failure"] or each["obstacle"] or "not known to be anywhere"
                for each in results
                if each["gdb"] is not None and (each["sonde"] is None or each["obstacle"])
            )
    table += line("all", "", total)
    table += "\nWhat is not fetched, by the reason:\n\n"
    table += "".join(f"- {reason}: {count}\n" for reason, count in reasons.most_common())
    print(table, end="")
    if arguments.write:
        page = ROOT / "docs" / "variables.md"
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text(before + BEGIN + table + END + rest.partition(END)[2])
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
