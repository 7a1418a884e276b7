#!/usr/bin/env python3
"""Try random programs of bpftrace's language, as many as wanted.

    python3 tools/bt_programs.py agree [--count N] [--first SEED]
        Each on both engines, and what they print compared with an evaluator of integers, strings and maps in Python;
        as root.
    python3 tools/bt_programs.py mutations [--count N] [--first SEED]
        Damaged programs: each compiles or ends in one mistake with its place.

The same numbers always make the same programs. Ends with status 1 if anything differs or goes wrong.
"""

import argparse
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS)]

AT_ONCE = 10
"""Programs in one run, each a probe of its own: to start an engine takes longer than they do."""
ENGINES = ("kernel", "embedded")


def printed(engine: str, text: str) -> str:
    """What a run prints; its messages, if it fails."""
    command = [sys.executable, "-m", "sonde", "bt", "-q", "--engine", engine, "-e", text, "-c", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if not done.returncode else done.stderr


def agree(first: int, count: int) -> int:
    """How many runs print something else than they should."""
    from support.bpftrace.bt_programs import made, shown

    different = 0
    for number in range(first, first + count, AT_ONCE):
        programs = made(number, min(AT_ONCE, first + count - number))
        for engine in ENGINES:
            lines, maps = shown(printed(engine, programs.text))
            if (lines, maps) == (programs.lines, programs.maps):
                continue
            different += 1
            others = [pair for pair in zip(programs.lines, lines, strict=False) if pair[0] != pair[1]]
            print(f"programs from {number} on, {engine}: (wanted, found) {others[:3] or (programs.maps, maps)}")
    print(f"{count} programs from number {first} on two engines: {different} runs differ")
    return different


def mutations(first: int, count: int) -> int:
    """How many programs end otherwise than they should."""
    from support.bpftrace.bt_compiling import outcome
    from support.bpftrace.bt_mutations import mutated

    wrong = 0
    for number in range(first, first + count):
        problem = outcome(mutated(number))
        if problem:
            wrong += 1
            print(f"program {number}: {mutated(number)[:500]!r}\n{problem}")
    print(f"{count} damaged programs from number {first}: {wrong} neither compile nor end in one mistake")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("agree", "mutations"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=1)
    given = parser.parse_args()
    return int(bool({"agree": agree, "mutations": mutations}[given.what](given.first, given.count)))


if __name__ == "__main__":
    sys.exit(main())
