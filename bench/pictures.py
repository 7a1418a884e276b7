"""What a flame graph of 50,000 stacks costs: to write, its size, to open, to zoom and to search in Chromium.

Usage: python bench/pictures.py [--json FILE]

Needs root, a C compiler, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HERE, SONDE, Table, median, milliseconds, show
from stacks import MORE, STACKS, built

sys.path.insert(0, str(HERE.parent / "tests"))

from support.command.browser import Browser, missing

DRAWN = "document.querySelector('g.frame')"

PAINTED = "return new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))));"
"""Milliseconds since the page was asked for, when what there is to be drawn is drawn."""

ACTION = """
    const begin = performance.now();
    (function () { ACTION })();
    return new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin))));"""
"""Milliseconds from an event to the picture after it."""

ZOOM = """
    const groups = [...document.querySelectorAll('g.frame')];
    groups[groups.length >> 1].dispatchEvent(new MouseEvent('click', { bubbles: true }));"""
BACK = "document.querySelector('#reset').click();"
SEARCH = """
    const field = document.querySelector('#search');
    field.value = 'left';
    field.dispatchEvent(new Event('input'));"""

OUTPUTS = (
    ("--flame", "a.html"), ("--flame", "a.svg"), ("--folded", "a.txt"), ("--speedscope", "a.json"),
    ("--pprof", "a.pb.gz"),
)  # fmt: skip
RUNS = 5


def command(target: str, *more: str) -> list[str]:
    # The stacks are not to be printed: what is measured is the picture.
    clauses = "syscall::getppid:entry /pid == $target/ { @[ustack()] = count(); } END { trunc(@); }"
    return [SONDE, "-q", "-xaggsize=256m", "-c", target, "-n", clauses, *more]


def processor(words: list[str]) -> float:
    """Seconds of the processor that a command and what it starts have had."""
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(words)}: exit status {child.returncode}")
    return used.ru_utime + used.ru_stime


def written(target: str, directory: str) -> list[tuple[str, ...]]:
    """Each format by itself: what it takes more than none, and its size."""
    bare = median([processor(command(target)) for _ in range(3)])
    rows: list[tuple[str, ...]] = []
    for option, name in OUTPUTS:
        path = Path(directory) / name
        more = median([processor(command(target, option, str(path))) for _ in range(3)]) - bare
        rows.append((f"{option} {name}", f"{more:.1f} s", f"{path.stat().st_size / 1024:.0f} KiB"))
    return rows


def used(path: Path) -> list[tuple[str, str]]:
    """What one who looks at the page waits for."""
    window = Browser()
    try:
        opened = median([_opened(window, path) for _ in range(RUNS)])
        count = window.run("return document.querySelectorAll('g.frame').length")

        def during(action: str) -> float:
            return float(window.run(ACTION.replace("ACTION", action)))

        zoomed, back, searched = [], [], []
        for _ in range(RUNS):
            zoomed.append(during(ZOOM))
            back.append(during(BACK))
            searched.append(during(SEARCH))
        times: list[tuple[str, float]] = [
            ("open, to the picture", opened), ("zoom in", median(zoomed)), ("zoom out", median(back)),
            ("search", median(searched)),
        ]  # fmt: skip
        return [(what, milliseconds(taken / 1000)) for what, taken in times] + [("frames drawn", f"{count:,}")]
    finally:
        window.close()


def _opened(window: Browser, path: Path) -> float:
    window.open(path)
    window.wait(DRAWN)
    return float(window.run(PAINTED))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a large flame graph")
    parser.add_argument("--json", help="file for the tables, for report.py")
    arguments = parser.parse_args()
    if missing():
        raise SystemExit(missing())
    with tempfile.TemporaryDirectory() as directory:
        target = built(directory)
        sizes = written(target, directory)
        waits = used(Path(directory) / "a.html")
    text = (
        f"{STACKS:,} different user stacks of {MORE + 2 * 16 + 4} frames and more, as each kind of file: the "
        "processor's time beyond that of the same trace without it; medians of 3."
    )
    seen = (
        f"The flame graph of these stacks in headless Chromium, drawn by the processor alone; medians of {RUNS}. How "
        "much is drawn depends on the window's width, here 1,200 pixels."
    )
    show(
        [
            Table("Many stacks as a picture", text, ("file", "CPU time", "size"), sizes),
            Table("A picture of many stacks in a browser", seen, ("what", "time"), [tuple(row) for row in waits]),
        ],
        arguments.json,
    )


if __name__ == "__main__":
    main()
