"""How long it takes until a probe in a large C++ program fires, and to probe a thousand functions of libc.

Usage: python bench/functions.py [--runs N] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from common import SONDE, Table, environment, has, median, milliseconds, show

UNITS = 8
MARK = b"fired"

UNIT = """
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
namespace shop%(n)d {
struct Item { std::string name; int count; std::map<std::string, std::vector<double>> prices; };
struct Basket {
    std::vector<Item> items;
    std::unordered_map<int, std::shared_ptr<Item>> by_number;
    long total(int factor, const std::string &label);
};
long Basket::total(int factor, const std::string &label)
{
    long sum = 0;
    for (auto &each : items)
        sum += each.count * factor;
    std::function<long(long)> longer = [&](long x) { return x + (long)label.size(); };
    return longer(sum) + std::regex_match(label, std::regex("[a-z]+"));
}
long work(int n) { Basket b; b.items.push_back({"x", n, {}}); return b.total(%(n)d, "label"); }
}
"""
LINE = UNIT.splitlines().index("        sum += each.count * factor;") + 1

PROBES = (
    ("an address", 'pid$target:a.out:main:entry { printf("fired\\n"); }'),
    ("a parameter by name", 'pid$target:a.out:shop3::Basket::total:entry { printf("fired %d\\n", args->factor); }'),
    ("a line and a variable", f'pid$target:a.out:unit3.cc@{LINE}: {{ printf("fired %d\\n", locals->factor); }}'),
)


class Run(NamedTuple):
    """Seconds from the command to the first line about an event and to its end, and of CPU time in all."""

    first: float
    end: float
    cpu: float


def built(directory: str) -> Path:
    """A program of some units, and how much debug information it has."""
    main = "".join(f"namespace shop{n} {{ long work(int); }}\n" for n in range(UNITS))
    calls = " + ".join(f"shop{n}::work({n})" for n in range(UNITS))
    texts = {f"unit{n}": UNIT % {"n": n} for n in range(UNITS)}
    texts["main"] = f"{main}int main() {{ return {calls} == 0; }}\n"
    made = []
    for name, text in texts.items():
        source = Path(directory) / f"{name}.cc"
        source.write_text(text)
        made.append(str(source.with_suffix(".o")))
        subprocess.run(["g++", "-g", "-Og", "-c", "-o", made[-1], str(source)], check=True)
    program = Path(directory) / "program"
    subprocess.run(["g++", "-o", str(program), *made], check=True)
    return program


def debug_information(program: Path) -> float:
    """MB in the sections with debug information."""
    sections = subprocess.run(["size", "-A", str(program)], capture_output=True, text=True, check=True).stdout
    sizes = [line.split() for line in sections.splitlines() if line.startswith(".debug_")]
    return sum(int(words[1]) for words in sizes) / 1e6


def run(command: Sequence[str], mark: bytes) -> Run:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    first = 0.0
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    assert child.stdout is not None
    for line in child.stdout:
        if mark in line and not first:
            first = time.monotonic() - begin
    if child.wait() or not first:
        raise SystemExit(f"{' '.join(command)}: exit status {child.returncode}, or no event")
    end, used = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(first, end, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime)


def forget(path: Path) -> None:
    """Have the kernel forget the file's contents."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def row(what: str, cache: str, runs: Sequence[Run]) -> tuple[str, ...]:
    return what, cache, *(milliseconds(median([each[n] for each in runs])) for n in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time probes of functions of programs")
    parser.add_argument("--runs", type=int, default=11, help="runs of each program")
    parser.add_argument("--json", help="file for the tables, for report.py")
    arguments = parser.parse_args()
    if not has("g++"):
        raise SystemExit("the workload is a C++ program, and there is no C++ compiler")
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        program = built(directory)
        for what, text in PROBES:
            command = [SONDE, "-q", "-xswitchrate=1ms", "-c", str(program), "-n", text]
            for cache in ("cold", "warm"):
                runs = []
                for _ in range(arguments.runs):
                    if cache == "cold":
                        forget(program)
                    runs.append(run(command, MARK))
                rows.append(row(what, cache, runs))
        size = debug_information(program)
    many = "pid$target:libc:[a-m]*:entry"
    listed = subprocess.run([SONDE, "-l", "-c", "/bin/true", "-n", many], capture_output=True, text=True, check=True)
    count = len(listed.stdout.splitlines()) - 1
    command = [SONDE, "-q", "-c", "/bin/true", "-n", many + ' { @["fired"] = count(); }']
    rows.append(row(f"{count:,} functions of libc", "warm", [run(command, MARK) for _ in range(arguments.runs)]))
    text = (
        f"From the command to the line about the first event, and to the end of the command, of a C++ program with "
        f"{size:.1f} MB of debug information. Cold: the kernel has forgotten the program's file. Functions of libc are "
        "probed and released again, and what has been counted is printed at the end."
    )
    heading = ("probe", "file", "first event", "end", "CPU time")
    show([Table("First event of a program's functions", text, heading, rows)], arguments.json)


if __name__ == "__main__":
    main()
