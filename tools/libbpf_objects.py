"""Compare sonde with libbpf on the objects of libbpf-tools: does each load, and does it count the same?

    python3 tools/libbpf_objects.py DIRECTORY [--sonde COMMAND] [--json FILE] [--settle SECONDS] [NAME ...]

DIRECTORY is libbpf-tools of a checkout of bcc (github.com/iovisor/bcc), built there: a tool NAME and its object
.output/NAME.bpf.o. For each, the tool and sonde run at the same time, both attached before a known workload begins
(libbpf_objects_load.py). Compared are, from before the workload until after it, how often the kernel has run each of
their programs, how many elements their maps have got, and how many lines of their outputs are about the workload. A
few more or less are allowed where the rest of the system takes part.

Needs root and bpftool. Ends with 1 if sonde does not load what libbpf's tool does, or counts something else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from libbpf_objects_cases import CASES, Case
from libbpf_objects_load import NAME

HERE = Path(__file__).resolve().parent
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
_PATIENCE = 120
"""Seconds that a program has to attach all it has."""
SUMMED = ("hists", "counts", ".bss")
_SLACK, _SHARE = 3, 0.06
"""How far two counts may be apart: so many, or that share."""


class Seen(NamedTuple):
    """What the kernel knows of a process's programs and maps by now: runs by a program's name, and of maps the number
    of elements and the sum of the 32-bit words of their values."""

    runs: Counter[str]
    elements: dict[str, int]
    words: dict[str, int]


class Result(NamedTuple):
    """One row of the table; `remark` says why there is nothing to compare, or what differs."""

    name: str
    libbpf: str
    sonde: str
    verdict: str
    remark: str


def _bpftool(*words: str) -> list[dict]:
    done = subprocess.run(["bpftool", "-j", *words], capture_output=True, text=True)
    found = json.loads(done.stdout or "[]")
    return found if isinstance(found, list) else [found]


def _identifiers(pid: int, kind: str) -> set[int]:
    """The numbers of the programs (`prog_id`) or maps (`map_id`) that a process has open."""
    found = set()
    for each in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            number = re.search(rf"^{kind}:\s*(\d+)", each.read_text(), re.MULTILINE)
        except OSError:
            continue
        if number:
            found.add(int(number[1]))
    return found


def _attached(pid: int) -> int:
    """How many links and perf events a process has."""
    count = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(each)
        except OSError:
            continue
        count += "bpf_link" in target or "perf_event" in target or "bpf-link" in target or "raw-tracepoint" in target
    return count


def _seen(pid: int, counts: tuple[str, ...], everything: list[dict]) -> Seen:
    mine = _identifiers(pid, "prog_id")
    runs = Counter({each.get("name", "?"): each.get("run_cnt", 0) for each in everything if each["id"] in mine})
    elements, words = {}, {}
    for identifier in _identifiers(pid, "map_id") if counts else ():
        (about,) = _bpftool("map", "show", "id", str(identifier))
        name = about.get("name", "")
        wanted = next((each for each in counts if name == each[:15] or (each[0] == "." and name.endswith(each))), None)
        if wanted is not None:
            found = _bpftool("map", "dump", "id", str(identifier))
            elements[wanted] = len(found)
            words[wanted] = sum(_words(each) for each in found)
    return Seen(runs, elements, words)


def _words(element: dict) -> int:
    values = [element["value"]] if "value" in element else [each["value"] for each in element["values"]]
    data = [bytes(int(byte, 16) for byte in each) for each in values]
    return sum(int.from_bytes(each[at : at + 4], "little") for each in data for at in range(0, len(each), 4))


class Side:
    """The tool or sonde while it runs: its process and what it has written."""

    def __init__(self, words: list[str], directory: str, name: str) -> None:
        self.output: IO[str] = open(os.path.join(directory, name), "w+")  # noqa: SIM115 - closed by `end`
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT)

    def wait_until_attached(self, settle: float) -> bool:
        """Whether it has come so far, as it is believed to have after so many seconds without a new link; False if it
        has ended."""
        last, since, begin = 0, time.monotonic(), time.monotonic()
        while time.monotonic() < begin + _PATIENCE:
            if self.process.poll() is not None:
                return False
            count = _attached(self.process.pid)
            if count != last:
                last, since = count, time.monotonic()
            if last and time.monotonic() > since + settle:
                return True
            time.sleep(0.1)
        return False

    def end(self) -> str:
        """What it has written."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                try:
                    self.process.wait(20)
                except subprocess.TimeoutExpired:
                    continue
        self.output.seek(0)
        text = self.output.read()
        self.output.close()
        return text


def _about(text: str, pid: int) -> int:
    """Lines that name the workload or its process."""
    return sum(1 for line in text.splitlines() if NAME in line or re.search(rf"\b{pid}\b", line))


def _near(first: int, second: int) -> bool:
    return abs(first - second) <= max(_SLACK, _SHARE * max(first, second))


class Counted(NamedTuple):
    """What one side has counted from before the workload until after it; `maps` are their sums where elements are
    numbers that only grow (`SUMMED`), else how many elements they have got."""

    runs: Counter[str]
    maps: dict[str, int]
    lines: int

    def __str__(self) -> str:
        maps = (f"{name} {'sum' if name in SUMMED else 'elements'} {count}" for name, count in self.maps.items())
        return "; ".join((f"{sum(self.runs.values())} runs of {len(self.runs)}", *maps, f"{self.lines} lines"))


def _counted(before: Seen, after: Seen, lines: int) -> Counted:
    runs = Counter({name: after.runs[name] - before.runs[name] for name in after.runs if name != "sonde.printk"})
    grown = {
        name: after.words[name] - before.words.get(name, 0)
        if name in SUMMED
        else after.elements[name] - before.elements.get(name, 0)
        for name in after.elements
    }
    return Counted(runs, grown, lines)


def _differences(told: Counted, ours: Counted, has_lines: bool) -> Iterator[str]:
    for what, one, other in (("runs of", told.runs, ours.runs), ("in map", Counter(told.maps), Counter(ours.maps))):
        for name in sorted({*one, *other}):
            if not _near(one[name], other[name]):
                yield f"{one[name]} and {other[name]} {what} {name}"
    # More than the tool's are what its own rings have lost.
    if has_lines and ours.lines < told.lines and not _near(told.lines, ours.lines):
        yield f"{told.lines} and {ours.lines} lines about the workload"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (next((line for line in lines if line.startswith("sonde:")), lines[-1]) if lines else "ended")[:200]


class Run(NamedTuple):
    """What is the same for all objects; `known` is what stands for names in braces of the options."""

    directory: Path
    sonde: list[str]
    has_fentry: bool
    settle: float
    known: dict[str, str]


def compared(name: str, case: Case, run: Run) -> Result:
    """Run one object both ways."""
    with tempfile.TemporaryDirectory(prefix="sonde-libbpf-", dir=os.environ.get("TMPDIR")) as place:
        load = subprocess.Popen(
            [sys.executable, HERE / "libbpf_objects_load.py", place], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        try:
            load.stdout.readline()
            known = {**run.known, "pid": str(load.pid)}
            options = [
                each.format(**known) for each in (*case.options, *(case.fentry if run.has_fentry else case.kprobe))
            ]
            words = [
                *run.sonde,
                "--object",
                str(run.directory / ".output" / f"{name}.bpf.o"),
                "-p",
                str(load.pid),
                *options,
            ]
            tool = Side([str(run.directory / name), *(each.format(**known) for each in case.tool)], place, "tool.out")
            there = tool.wait_until_attached(run.settle)
            ours = Side(words, place, "sonde.out")
            here = ours.wait_until_attached(run.settle)
            if not (there and here):
                texts = tool.end(), ours.end()
                states = "loads" if there else _last(texts[0]), "loads" if here else _last(texts[1])
                verdict = "FAILS" if there else "sonde only" if here else "neither"
                return Result(name, *states, verdict, case.reason)
            return _measured(name, case, load, tool, ours)
        finally:
            load.kill()
            load.wait()


def _measured(name: str, case: Case, load: subprocess.Popen[str], tool: Side, ours: Side) -> Result:
    sides = tool, ours
    everything = _bpftool("prog", "show")
    before = tuple(_seen(each.process.pid, case.counts, everything) for each in sides)
    load.stdin.write("\n")
    load.stdin.flush()
    load.stdout.readline()
    time.sleep(0.5)
    everything = _bpftool("prog", "show")
    after = tuple(_seen(each.process.pid, case.counts, everything) for each in sides)
    lines = [_about(each.end(), load.pid) for each in sides]
    told, mine = (_counted(*each) for each in zip(before, after, lines, strict=True))
    wrong = "; ".join(_differences(told, mine, case.has_events))
    verdict = "DIFFERS" if wrong else "equal" if told.runs.total() else "equal, idle"
    return Result(name, str(told), str(mine), verdict, wrong or (case.note if verdict == "equal" else case.reason))


_GARBAGE = """public class Garbage {
    public static void main(String[] words) throws Exception { for (;;) { System.gc(); Thread.sleep(50); } }
}
"""


@contextmanager
def _java() -> Iterator[dict[str, str]]:
    """A Java that collects garbage all the time, where there is one: its process, and its library."""
    with tempfile.TemporaryDirectory(prefix="sonde-java-") as place:
        if not shutil.which("java"):
            yield {"jvm": "libjvm.so", "java": "1"}
            return
        source = Path(place, "Garbage.java")
        source.write_text(_GARBAGE)
        running = subprocess.Popen(["java", "-Xmx64m", source], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield {"jvm": _library(running.pid), "java": str(running.pid)}
        finally:
            running.kill()
            running.wait()


def _library(pid: int) -> str:
    """The machine of a Java that has started, as soon as it is mapped."""
    for _ in range(600):
        found = re.search(r"\S+/libjvm\.so", Path(f"/proc/{pid}/maps").read_text())
        if found:
            return found[0]
        time.sleep(0.1)
    return "libjvm.so"


def _version(directory: Path) -> str:
    """libbpf's, with which the tools have been built."""
    header = directory / ".output" / "bpf" / "libbpf_version.h"
    numbers = re.findall(r"_(?:MAJOR|MINOR)_VERSION (\d+)", header.read_text()) if header.exists() else []
    return ".".join(numbers)


def _has_fentry() -> bool:
    """Whether functions of the kernel can be traced by trampolines."""
    try:
        with open("/sys/kernel/tracing/available_filter_functions") as functions:
            return bool(functions.readline())
    except OSError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sonde", default=shlex.join((sys.executable, "-m", "sonde")))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--settle", type=float, default=1, help="seconds for attaching, more in an emulated machine")
    arguments = parser.parse_intermixed_args()
    names = arguments.names or sorted(each.name[:-6] for each in (arguments.directory / ".output").glob("*.bpf.o"))
    earlier = STATISTICS.read_text()
    STATISTICS.write_text("1")
    words = shlex.split(arguments.sonde)
    results = []
    try:
        for name in names:
            with _java() if name == "javagc" else nullcontext({}) as known:
                run = Run(arguments.directory, words, _has_fentry(), arguments.settle, known)
                found = compared(name, CASES.get(name, Case()), run)
            results.append(found)
            remark = f" ({found.remark})" if found.remark else ""
            print(f"{name}: {found.verdict}{remark}\n    libbpf: {found.libbpf}\n    sonde:  {found.sonde}", flush=True)
    finally:
        STATISTICS.write_text(earlier)
    print(", ".join(f"{count} {verdict}" for verdict, count in Counter(each.verdict for each in results).items()))
    if arguments.json:
        about = {"kernel": os.uname().release, "libbpf": _version(arguments.directory)}
        found = {**about, "results": [each._asdict() for each in results]}
        arguments.json.write_text(json.dumps(found, indent=1))
    return int(any(each.verdict in ("FAILS", "DIFFERS") for each in results))


if __name__ == "__main__":
    sys.exit(main())
