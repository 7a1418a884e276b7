"""What scrapes of `sonde export` cost the trace: a thousand histograms, scraped without a pause, beside records.

    python bench/export.py [--pace N] [--seconds N] [--json FILE]

Needs root, a C compiler and prometheus_client. Calls of a run = records + reported losses, or it fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
import time
import urllib.request
from contextlib import suppress
from typing import NamedTuple

from common import SONDE, Table, environment, median, show, workload

PACE = 300_000
PROGRAM = """
#pragma D option quiet
syscall::getpgid:entry /pid == $target/ {
    printf("%d %s %d %d\\n", pid, execname, timestamp, arg0);
    @calls = count(); @[timestamp % 1000] = quantize(timestamp % 4096);
}
"""
TEXT = (
    "A program that prints a record for each call and counts it in one of 1,000 histograms, while nobody scrapes, and "
    "while a client scrapes without a pause. The milliseconds are those of a scrape, from asking to its last byte."
)


class Outcome(NamedTuple):
    calls: int
    records: int
    lost: int
    scrapes: list[float]


def scrape(url: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as answer:
        return answer.read().decode()


def run(pace: int, seconds: int, is_scraped: bool) -> Outcome:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "records")
        words = ["export", "--listen", "0", "-b", "64m", "-o", path, "-c", f"{workload()} {pace} {seconds}", "-n"]
        command = subprocess.Popen(
            [SONDE, *words, PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        url = next(found[0] for line in command.stderr if (found := re.search(r"http\S+", line)))
        took: list[float] = []
        with suppress(OSError):
            while is_scraped and command.poll() is None:
                begun = time.monotonic()
                scrape(url)
                took.append(time.monotonic() - begun)
        out, told = command.communicate()
        with open(path, "rb") as file:
            records = sum(b" sonde-bench" in line for line in file)
    (calls,) = re.findall(r"^(\d+) \d+\.\d{3}$", out, re.MULTILINE)
    lost = sum(map(int, re.findall(r"(\d+) drops? on CPU", told)))
    if int(calls) != records + lost:
        raise SystemExit(f"{calls} calls, but {records} records and {lost} reported as lost")
    return Outcome(int(calls), records, lost, took)


def row(name: str, pace: int, seconds: int, is_scraped: bool) -> tuple[str, ...]:
    found = run(pace, seconds, is_scraped)
    times = f"{median(found.scrapes) * 1e3:.0f} ms" if found.scrapes else ""
    return name, f"{found.records / seconds:,.0f}", f"{found.lost:,}", str(len(found.scrapes)), times


def main() -> None:
    parser = argparse.ArgumentParser(description="What scrapes cost a trace")
    parser.add_argument("--pace", type=int, default=PACE, help="events a second, 0: as many as there can be")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    ways = (("nobody scrapes", False), ("scraped without a pause", True))
    rows = [row(name, arguments.pace, arguments.seconds, scraped) for name, scraped in ways]
    show([Table("Scrapes", TEXT, ("", "records a second", "lost", "scrapes", "a scrape"), rows)], arguments.json)


if __name__ == "__main__":
    main()
