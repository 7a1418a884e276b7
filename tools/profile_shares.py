#!/usr/bin/env python3
"""Profile programs of five kinds as root, without privilege and by perf: the shares of their functions must agree.

    tools/profile_shares.py [--seconds N] [--rate HZ] [KIND ...]

The kinds are python, go, node, java and gcc. Each of the first four does four pieces of work in turn, whose shares of
CPU time it measures itself; gcc compiles a file of its own. A share is that of the samples in whose stack a function
stands. The profilers are the kernel engine, the embedded engine as an ordinary user, and perf, which knows no functions
of Python. The status is 1 if two of them, or the program's own measure, differ by more than 3 points. Needs root, perf
and what the kinds are named after.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PYTHON3 = "/usr/bin/python3"
"""One that ordinary users may execute."""
SONDE = ["env", f"PYTHONPATH={ROOT}/src", "HOME=/tmp", PYTHON3, "-m", "sonde"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
MOST = 3.0
"""Points of a hundred."""

WORKS = {"alpha": 8, "beta": 5, "gamma": 3, "delta": 2}
"""Functions, and how much of the work each does."""

PYTHON = """
import sys, time
def {0}(n):
    total = 0
    for i in range(n * 20000): total += i % 7
    return total
{1}
spent = dict.fromkeys({2}, 0.0)
end = time.monotonic() + {3}
while time.monotonic() < end:
    for name, size in {2}.items():
        begin = time.thread_time()
        globals()[name](size)
        spent[name] += time.thread_time() - begin
whole = sum(spent.values())
for name in spent: print("share", name, 100 * spent[name] / whole, file=sys.stderr)
"""

GO = """
package main
import ("fmt"; "os"; "time")
var sink int
{0}
func main() {{
    end := time.Now().Add({1} * time.Second)
    spent := map[string]time.Duration{{}}
    for time.Now().Before(end) {{
{2}
    }}
    whole := time.Duration(0)
    for _, each := range spent {{ whole += each }}
    for name, each := range spent {{ fmt.Fprintln(os.Stderr, "share", name, 100*float64(each)/float64(whole)) }}
}}
"""
GO_WORK = """
//go:noinline
func {0}(n int) int {{ total := 0; for i := 0; i < n*400000; i++ {{ total += i % 7; sink = total }}; return total }}
"""
GO_CALL = '        {{ begin := time.Now(); sink += {0}({1}); spent["{0}"] += time.Since(begin) }}'

NODE = """
{0}
const works = {1}, spent = {{}};
const end = Date.now() + {2} * 1000;
while (Date.now() < end) for (const [f, n] of works) {{
    const begin = process.cpuUsage().user; f(n); spent[f.name] = (spent[f.name] || 0) + process.cpuUsage().user - begin;
}}
const whole = Object.values(spent).reduce((a, b) => a + b);
for (const name in spent) console.error("share", name, 100 * spent[name] / whole);
"""
NODE_WORK = "function {0}(n) {{ let t = 0; for (let i = 0; i < n * 400000; i++) t = (t + i % 7) | 0; return t; }}"

JAVA = """
public class Shares {{
{0}
    public static void main(String[] words) {{
        long end = System.nanoTime() + {1}L * 1000000000L, sink = 0;
        var clock = java.lang.management.ManagementFactory.getThreadMXBean();
        long[] spent = new long[{2}];
        while (System.nanoTime() < end) {{
            long begin;
{3}
        }}
        double whole = 0;
        for (long each : spent) whole += each;
        String[] names = {{{4}}};
        for (int n = 0; n < names.length; n++) System.err.println("share " + names[n] + " " + 100 * spent[n] / whole);
        System.exit(sink == 42 ? 1 : 0);
    }}
}}
"""
JAVA_WORK = "    static long {0}(int n) {{ long t = 0; for (int i = 0; i < n * 400000; i++) t += i % 7; return t; }}"
JAVA_CALL = (
    "            begin = clock.getCurrentThreadCpuTime(); sink += {0}({1}); "
    "spent[{2}] += clock.getCurrentThreadCpuTime() - begin;"
)


class Kind(NamedTuple):
    command: list[str]
    functions: Sequence[str]
    """None: those that perf finds most often."""
    perf: bool
    """Whether perf names the functions."""


def python(place: Path, seconds: int) -> Kind:
    first, *rest = WORKS
    body = PYTHON.split("def {0}(n):")[1].split("{1}")[0]
    others = "".join(f"def {name}(n):{body}" for name in rest)
    (place / "shares.py").write_text(PYTHON.format(first, others, WORKS, seconds))
    return Kind([PYTHON3, str(place / "shares.py")], list(WORKS), perf=False)


def go(place: Path, seconds: int) -> Kind:
    works = "".join(GO_WORK.format(name) for name in WORKS)
    calls = "\n".join(GO_CALL.format(*each) for each in WORKS.items())
    (place / "shares.go").write_text(GO.format(works, seconds, calls))
    environment = {**os.environ, "GOCACHE": str(place / "cache"), "GOFLAGS": "-mod=mod"}
    subprocess.run(["go", "build", "-o", "shares", "shares.go"], check=True, cwd=place, env=environment)
    return Kind([str(place / "shares")], list(WORKS), perf=True)


def node(place: Path, seconds: int) -> Kind:
    works = "\n".join(NODE_WORK.format(name) for name in WORKS)
    table = "[" + ", ".join(f"[{name}, {size}]" for name, size in WORKS.items()) + "]"
    (place / "shares.js").write_text(NODE.format(works, table, seconds))
    return Kind(["node", "--perf-basic-prof", str(place / "shares.js")], list(WORKS), perf=True)


def java(place: Path, seconds: int) -> Kind:
    works = "\n".join(JAVA_WORK.format(name) for name in WORKS)
    calls = "\n".join(JAVA_CALL.format(name, size, n) for n, (name, size) in enumerate(WORKS.items()))
    names = ", ".join(f'"{name}"' for name in WORKS)
    (place / "Shares.java").write_text(JAVA.format(works, seconds, len(WORKS), calls, names))
    subprocess.run(["javac", "Shares.java"], check=True, cwd=place)
    options = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
    return Kind(["java", *options, "-cp", str(place), "Shares"], list(WORKS), perf=True)


def gcc(place: Path, seconds: int) -> Kind:
    one = "double f{0}(double a, int b) {{ for (int i = 0; i < b; i++) a = a * i + {0}; return a; }}\n"
    (place / "shares.c").write_text("".join(one.format(n) for n in range(400 * seconds)))
    compiler = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return Kind([compiler, "-quiet", "-O2", "-o", "/dev/null", str(place / "shares.c")], [], perf=True)


KINDS: dict[str, Callable[[Path, int], Kind]] = {"python": python, "go": go, "node": node, "java": java, "gcc": gcc}


def shares(stacks: Iterable[tuple[Sequence[str], int]], functions: Sequence[str]) -> dict[str, float]:
    """The share of each function, in points, among samples that have any of them; with none given, of the most
    frequent innermost ones among all samples."""
    counts: Counter[str] = Counter()
    whole = 0
    for frames, count in stacks:
        found = [name for name in functions if any(name in _words(each) for each in frames)]
        if not functions and frames:
            found = [frames[0]]
        whole += count if found else 0
        counts.update(dict.fromkeys(found, count))
    return {name: 100 * count / whole for name, count in counts.most_common(12)}


def _words(frame: str) -> list[str]:
    return re.findall(r"\w+", frame)


_UNNAMED = re.compile(r"\S+\+0x[0-9a-f]+(\+0x[0-9a-f]+)?$|0x[0-9a-f]+$")
"""A function without a symbol, which perf calls so."""


def _name(function: str) -> str:
    """Without parameters, which perf does not show."""
    return function.partition("(")[0] or function


def by_sonde(kind: Kind, rate: int, engine: str) -> tuple[dict[str, float], dict[str, float]]:
    """The shares, and the program's own."""
    clause = f"profile-{rate} /pid == $target && arg1/ {{ @[ustack()] = count(); }}"
    words = [*SONDE, "-q", "--engine", engine, "-n", clause, "-c", " ".join(kind.command)]
    done = subprocess.run([*NOBODY, *words] if engine == "embedded" else words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"profile_shares: {engine}: {done.stderr}")
    found: list[tuple[list[str], int]] = []
    frames: list[str] = []
    for line in done.stdout.splitlines():
        text = line.strip()
        if text.isdigit():
            found.append((frames, int(text)))
            frames = []
        elif text:
            _, has_name, name = text.partition("`")
            frames.append(_name(re.sub(r"\+0x[0-9a-f]+$", "", name)) if has_name else _UNNAMED.sub("[unknown]", text))
    own = {name: float(share) for name, share in re.findall(r"^share (\w+) (\S+)$", done.stderr, re.MULTILINE)}
    return shares(found, kind.functions), own


def by_perf(kind: Kind, rate: int, place: Path) -> dict[str, float]:
    data = str(place / "perf.data")
    record = ["perf", "record", "-q", "-F", str(rate), "-e", "cpu-clock:u", "-g", "-o", data, "--", *kind.command]
    subprocess.run(record, check=True, capture_output=True)
    script = ["perf", "script", "-i", data, "-F", "ip,sym"]
    text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    lines = ([line.split(None, 1) for line in each.splitlines()] for each in text.strip().split("\n\n"))
    return shares([([_name(words[-1]) for words in each if words], 1) for each in lines], kind.functions)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare shares of functions between profilers.")
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], metavar="KIND")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=199)
    arguments = parser.parse_args()
    worst, maps = 0.0, perf_maps()
    for name in arguments.kinds or KINDS:
        with tempfile.TemporaryDirectory(prefix="profile-shares-") as made:
            place = Path(made)
            place.chmod(0o755)
            kind = KINDS[name](place, arguments.seconds)
            found = {}
            found["kernel"], own = by_sonde(kind, arguments.rate, "kernel")
            found["embedded"], _ = by_sonde(kind, arguments.rate, "embedded")
            if kind.perf:
                found["perf"] = by_perf(kind, arguments.rate, place)
            if own:
                found["itself"] = own
            worst = max(worst, show(name, found))
        # Those of the programs, which may not remove them.
        for each in perf_maps() - maps:
            if each.owner() in ("nobody", "root"):
                each.unlink()
    print(f"largest difference: {worst:.1f} points")
    return 0 if worst <= MOST else 1


def perf_maps() -> set[Path]:
    return set(Path("/tmp").glob("perf-*.map"))


def show(name: str, found: dict[str, dict[str, float]]) -> float:
    """Print the shares; the largest difference between two profilers."""
    print(f"{name:12}" + "".join(f"{each:>12}" for each in found))
    worst = 0.0
    for function in dict.fromkeys(each for shares in found.values() for each in shares):
        row = [shares.get(function, 0.0) for shares in found.values()]
        print(f"  {function[:40]:40}" + "".join(f"{each:8.1f}" for each in row))
        worst = max(worst, max(row) - min(row))
    return worst


if __name__ == "__main__":
    if not shutil.which("perf"):
        raise SystemExit("profile_shares: perf is not installed")
    sys.exit(main())
