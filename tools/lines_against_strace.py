"""Compare examples/strace.d with strace(1), line by line, on both engines, as root.

    python3 tools/lines_against_strace.py [--differences] [--engine ENGINE] [COMMAND]

Without a command it is the workload of the tests, which makes each call in many ways. The table has for each call the
lines of strace, and how many of them each engine has as well.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.files import strace_lines

SONDE = str(Path(sys.executable).parent / "sonde")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--differences", action="store_true")
    parser.add_argument("--engine", action="append")
    parser.add_argument("command", nargs="?")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        commands = [words.command] if words.command else _workload(place)
        for engine in words.engine or ("embedded", "kernel"):
            _table(engine, commands, place, words.differences)


def _workload(place: str) -> list[str]:
    program = f"{place}/calls"
    subprocess.run(["gcc", "-w", "-O1", "-pthread", "-o", program, strace_lines.PROGRAM], check=True)
    return [f"{program} {group}" for group in strace_lines.GROUPS]


def _table(engine: str, commands: list[str], place: str, is_long: bool) -> None:
    totals, same = Counter[str](), Counter[str]()
    for command in commands:
        # The first line is the exec that sonde has held the command behind.
        theirs = _shown(["strace", "-f", "-a1", "-o", "{}", *shlex.split(command)], place).partition("\n")[2]
        script = [
            SONDE,
            "--engine",
            engine,
            "-xevaltime=exec",
            "-s",
            str(strace_lines.SCRIPT),
            "-o",
            "{}",
            "-c",
            command,
        ]
        found = strace_lines.compare(theirs, _shown(script, place))
        if not found[0]:
            sys.exit(f"strace shows no call of: {command}")
        totals += found[0]
        same += found[1]
        if is_long:
            _differences(found[2])
    for call, count in sorted(totals.items(), key=lambda each: (-each[1], each[0])):
        print(f"{engine:9} {call:20} {same[call]:5} of {count:5}  {100 * same[call] / count:5.1f} %")
    print(f"{engine:9} {'all':20} {same.total():5} of {totals.total():5}  {100 * same.total() / totals.total():5.1f} %")


def _shown(words: list[str], place: str) -> str:
    """What a command writes into the file that it is given; it runs in an empty directory."""
    path = f"{place}/shown"
    # sonde appends to a file that is there.
    Path(path).unlink(missing_ok=True)
    # Names of directories are in the lines.
    empty = Path(place, "empty")
    empty.mkdir()
    subprocess.run(
        [path if word == "{}" else word for word in words], cwd=empty, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=sys.stderr, env={**os.environ, "LC_ALL": "C"}, check=False,
    )  # fmt: skip
    shutil.rmtree(empty)
    return Path(path).read_text(errors="replace")


def _differences(differing: dict[str, tuple[list[str], list[str]]]) -> None:
    for theirs, ours in differing.values():
        print("".join(f"- {line}\n" for line in theirs) + "".join(f"+ {line}\n" for line in ours), end="")


if __name__ == "__main__":
    main()
