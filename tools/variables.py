"""Compare the variables that sonde names with gdb, in programs of C, C++ and Rust, and count what it cannot fetch.

    python3 tools/variables.py [--write]
    python3 tools/variables.py --engine kernel|embedded [--write]
    python3 tools/variables.py --under DIRECTORY PROGRAM [ARGUMENT ...]

Each program of tests/programs is compiled without and with optimisation and run under gdb, which stops twice at every
place where it would break for a line. The table that is printed goes into docs/variables.md with --write. Ends with
status 1 if a value differs. The second form traces the same programs with that engine, at every instruction where a
statement begins, and compares what a D program prints at the first visit; it needs root for the kernel's, and puts its
sum into the same page. The third form compares a program with its arguments, at 300 lines of its files below a
directory, and the scalars that its pointers lead to.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from support.symbols.compiled_objects import SOURCES, compiled  # noqa: E402
from support.symbols.gdb_comparison import compared, of_program  # noqa: E402
from support.symbols.live_points import Subject, in_lists  # noqa: E402
from support.symbols.live_points import compared as compared_live  # noqa: E402

FLAGS = {
    "c": (("-O0",), ("-O2",), ("-O3",)),
    "c++": (("-O0",), ("-O2",), ("-O3",)),
    "rust": tuple(("-C", f"opt-level={level}") for level in (0, 2, 3)),
    "clang": (("-O0",), ("-O2",), ("-O3",)),
    "clang++": (("-O0",), ("-O2",), ("-O3",)),
}
BEGIN, END = "<!-- begin of what tools/variables.py writes -->\n", "<!-- end of what tools/variables.py writes -->\n"
BEGIN_LIVE = "<!-- begin of what tools/variables.py --engine embedded writes -->\n"
END_LIVE = "<!-- end of what tools/variables.py --engine embedded writes -->\n"
RANDOM = ".hash_builder."
"""In a path: what another run of the program has by chance."""
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


def by_debugger(language: str, flags: tuple[str, ...]) -> tuple[str, Counter[str], Counter[str]]:
    """The row of a program in which gdb reads what sonde would, its counts, and why variables are not fetched."""
    name = f"{language} variables"
    results = compared(compiled(*flags, language=name), SOURCES[name][0])
    reasons = Counter(
        each["failure"] or each["obstacle"] or "not known to be anywhere"
        for each in results
        if each["gdb"] is not None and (each["sonde"] is None or each["obstacle"])
    )
    return (*row(language, flags, results), reasons)


def live_row(language: str, flags: tuple[str, ...], engine: str) -> tuple[str, Counter[str], Counter[str]]:
    """The row of a program that an engine traces, its counts, and why variables are not fetched."""
    name, _, (compiler, *_) = SOURCES[f"{language} variables"]
    subject = Subject(compiled(*flags, language=f"{language} variables"))
    subject.add_lines(name)
    with tempfile.TemporaryDirectory() as directory:
        pairs, refused, errors = compared_live(subject, Path(directory), engine)
    pairs = {each: pair for each, pair in pairs.items() if RANDOM not in each[1]}
    wrong = {each: pair for each, pair in pairs.items() if pair[0] != pair[1]}
    for (address, path), (by_gdb, by_sonde) in wrong.items():
        print(f"wrong: {address:x} {path}: {by_gdb} {by_sonde}")
    print(errors, end="")
    counts = Counter(
        points=len({address for address, _ in pairs}), pairs=len(pairs) + len(refused), wrong=len(wrong),
        lists=len(in_lists(subject, pairs)), beyond=len(refused),
    )  # fmt: skip
    return line(name, " ".join((compiler, *flags)), counts), counts, Counter(refused.values())


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
    parser.add_argument("--engine", choices=("kernel", "embedded"), help="have this engine fetch them")
    parser.add_argument("--under", default="/", help="where the source files of PROGRAM are")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="compare this program, with its arguments")
    arguments = parser.parse_args()
    if arguments.program:
        return one_program(arguments.program, arguments.under)
    absent = [name for name in FLAGS if not shutil.which(SOURCES[f"{name} variables"][2][0])]
    if absent:
        print(f"compilers for {', '.join(absent)} are not installed")
        return 2
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    table = HEAD
    for language, flags in ((each, flags) for each, variants in FLAGS.items() for flags in variants):
        made = live_row(language, flags, arguments.engine) if arguments.engine else by_debugger(language, flags)
        table += made[0]
        total += made[1]
        reasons += made[2]
    table += line("all", "", total)
    table += "\nWhat is not fetched, by the reason:\n\n" if reasons else ""
    table += "".join(f"- {reason}: {count}\n" for reason, count in reasons.most_common())
    print(table, end="")
    if arguments.write:
        page = ROOT / "docs" / "variables.md"
        begin, end = (BEGIN_LIVE, END_LIVE) if arguments.engine else (BEGIN, END)
        before, _, rest = page.read_text().partition(begin)
        page.write_text(before + begin + table + end + rest.partition(end)[2])
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
