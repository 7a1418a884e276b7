"""Compare the variables that sonde names with gdb, in programs of C, C++ and Rust, and count what it cannot fetch.

    python3 tools/variables.py [--write]
    python3 tools/variables.py --under DIRECTORY PROGRAM [ARGUMENT ...]

Each program of tests/programs is compiled without and with optimisation and run under gdb, which stops twice at every
place where it would break for a line. The table that is printed goes into docs/variables.md with --write. Ends with
status 1 if a value differs. The second form compares a program with its arguments, at 300 lines of its files below a
directory, and the scalars that its pointers lead to.
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
from gdb_comparison import compared, of_program  # noqa: E402

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


def one_program(command: list[str], under: str) -> int:
    """Print the row of a program, and what is not fetched. Gives 1 if a value differs."""
    results = of_program([str(Path(command[0]).resolve()), *command[1:]], under, 300, 1500)
    pairs = [each for each in results if each["gdb"] is not None]
    reasons = Counter(
        each["failure"] or each["obstacle"] or "not known to be anywhere"
        for each in pairs
        if each["sonde"] is None or each["obstacle"]
    )
    wrong = [each for each in pairs if each["sonde"] not in (None, each["gdb"]) and not each["obstacle"]]
    points = len({each["pc"] for each in pairs})
    share = 100 * sum(reasons.values()) / max(len(pairs), 1)
    print(f"{points} points, {len(pairs)} pairs, {len(wrong)} wrong, {share:.2f} % not fetched")
    print("".join(f"- {reason}: {count}\n" for reason, count in reasons.most_common()), end="")
    print("".join(f"wrong: {each}\n" for each in wrong), end="")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="compare the values of variables with gdb's")
    parser.add_argument("--write", action="store_true", help="put the table into docs/variables.md")
    parser.add_argument("--under", default="/", help="where the source files of PROGRAM are")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="compare this program, with its arguments")
    arguments = parser.parse_args()
    if arguments.program:
        return one_program(arguments.program, arguments.under)
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
