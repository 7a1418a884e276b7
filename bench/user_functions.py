"""What an entry of a function with its return costs on the embedded engine, beside ltrace and gdb in the same run.

    python bench/user_functions.py [--runs N] [--calls N] [--json FILE]

Needs a C compiler, ltrace and gdb, and no privilege. The tools take turns, so that whatever else the machine does meets
all of them; figures are medians. Each counts, or prints, every call and its result: ltrace as it does, gdb by a
breakpoint at the function and one behind its call, both with commands, as `finish` takes longer.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from common import SONDE, Table, has, median, ratio, show, timed

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long work(long a, long b) { __asm__ volatile(""); return a * b + 1; }
int main(int count, char **words)
{
    long sum = 0;
    for (long i = 0, n = atol(words[1]); i < n; i++) {
        sum += work(i, count); /* behind */
        sum ^= i;
    }
    printf("%ld\n", sum);
}
"""
BOTH = "pid$target:a.out:work:entry, pid$target:a.out:work:return { @[probename] = count(); }"
PRINTED = (
    'pid$target:a.out:work:entry { printf("work(%d, %d)", arg0, arg1); }'
    'pid$target:a.out:work:return { printf(" = %d\\n", arg1); }'
)
GDB = """
set pagination off
break work
commands
silent
printf "work(%ld, %ld)", $rdi, $rsi
continue
end
break {line}
commands
silent
printf " = %ld\\n", $rax
continue
end
run {calls}
"""


def programs(directory: Path, calls: int) -> dict[str, list[str]]:
    """The commands by the tools' names."""
    binary, script = directory / "work", directory / "commands"
    subprocess.run(["gcc", "-O1", "-g", "-x", "c", "-o", binary, "-"], input=SOURCE, text=True, check=True)
    behind = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if "sum ^= i" in text)
    script.write_text(GDB.format(line=behind, calls=calls))
    command = [str(binary), str(calls)]
    sonde = [SONDE, "--engine", "embedded", "-q", "-o", "/dev/null"]
    return {
        "untraced": command,
        "ltrace": ["ltrace", "-x", "work@work", "-o", "/dev/null", *command],
        "gdb": ["gdb", "-q", "-batch", "-x", str(script), str(binary)],
        "sonde, counted": [*sonde, "-n", BOTH, "-c", " ".join(command)],
        "sonde, printed": [*sonde, "-n", PRINTED, "-c", " ".join(command)],
    }


def measured(runs: int, calls: int) -> Table:
    with tempfile.TemporaryDirectory() as folder:
        few, many = programs(Path(folder), calls // 10), programs(Path(folder), calls)
        values: dict[str, list[float]] = {name: [] for name in many}
        for _ in range(runs):
            for name, command in many.items():
                # gdb reads its script from the file that was written last.
                first = timed(few[name]).wall if name != "gdb" else 0.0
                whole = timed(command).wall
                values[name].append((whole - first) / (calls - (calls // 10 if first else 0)) * 1e6)
    cost = {name: median(each) for name, each in values.items()}
    rows = [
        (name, f"{value:.1f} us", ratio(value, cost["ltrace"]), ratio(value, cost["gdb"]))
        for name, value in cost.items()
    ]
    text = f"{calls} calls of a function that does next to nothing, each entry and return told."
    return Table("A call of a function with its return", text, ("", "a call", "to ltrace's", "to gdb's"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    for tool in ("gcc", "ltrace", "gdb"):
        if not has(tool):
            raise SystemExit(f"{tool} is not installed")
    show([measured(arguments.runs, arguments.calls)], arguments.json)


if __name__ == "__main__":
    main()
