"""docs/records-cost.md: the tables of records.py, and what they say of the arguments about these ways."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from common import HERE, SONDE, Table

from sonde.codegen.basis.outputs import LARGEST_RECORD

TARGET = HERE.parent / "docs" / "records-cost.md"

INTRODUCTION = """\
# What it costs to write a record

Written by `bench/records.py`; the figures are of one machine, and of what else it did at that time. What can be
compared is what stands in one table: its rows were measured by turns in one run, and the ratios in brackets are the
point.

A BPF program can hand data to a process in three ways. It *reserves* room in a BPF ring buffer, fills it in place and
submits it; or it builds the record elsewhere and has it copied, into the BPF ring buffer (`bpf_ringbuf_output`) or into
its CPU's perf ring (`bpf_perf_event_output`). Only the last one can have the kernel append the bytes of a packet, from
wherever they are. sonde reserves by default, copies into the ring buffer what has long strings, and goes through perf
rings where there is no ring buffer (before Linux 5.8) or a packet follows; `-xoutput` says otherwise.
The embedded engine has a fourth way, to reserve in the perf ring itself.
"""

PROGRAM = "packet:lo:ingress: { trace(pktlen); capture(128); }"
_BEFORE_CALL = 13


class Figures:
    """The first number of a table's cells, by row and column."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = {table.title: table for table in tables}

    def row(self, title: str, *words: str) -> list[float]:
        """The numbers of the row that begins with these cells."""
        found = next(row for row in self._tables[title].rows if row[: len(words)] == words)
        numbers = (re.search(r"[\d,.]+", cell) for cell in found[len(words) :])
        return [float(number[0].replace(",", "")) if number else float("nan") for number in numbers]

    def rest(self, title: str, row: str, column: int, pattern: str) -> str:
        """What a pattern finds in a cell."""
        cell = next(each for each in self._tables[title].rows if each[0] == row)[column]
        found = re.search(pattern, cell)
        assert found is not None, cell
        return found[1]


def write(tables: Sequence[Table], machine: str, command: str) -> None:
    figures = Figures(tables)
    by_title = {table.title: table for table in tables}
    parts = [_filled(INTRODUCTION), f"    {command}\n", _filled(f"{machine}."), "## The old arguments, in numbers\n"]
    parts += [_filled(text) for text in _arguments(figures)]
    parts += ["## One copy: the program\n", *_one_copy()]
    parts += [part for title in by_title for part in _section(by_title, title)]
    TARGET.write_text("\n".join(parts))
    print(f"written: {TARGET.relative_to(HERE.parent)}")


def replace(table: Table) -> None:
    """Put one table's section in the place of the one that the page has, or before the losses."""
    page = TARGET.read_text()
    made = "\n".join(_section({table.title: table}, table.title))
    heading = f"## {table.title}\n"
    before, found, rest = page.partition(heading)
    if not found:
        before, found, rest = page.partition("## Losses\n")
        TARGET.write_text(f"{before}{made}\n{found}{rest}")
        return
    TARGET.write_text(f"{before}{made}\n## {rest.partition(chr(10) + '## ')[2]}")


def _filled(text: str) -> str:
    paragraphs = text.rstrip().split("\n\n")
    return "\n\n".join(
        each if each.startswith("#") else textwrap.fill(each, 79, break_long_words=False, break_on_hyphens=False)
        for each in paragraphs
    ) + "\n"  # fmt: skip


def _section(tables: Mapping[str, Table], title: str) -> Iterator[str]:
    table = tables[title]
    yield f"## {title}\n"
    yield _filled(table.text)
    lines = [table.heading, ["---", *["---:"] * (len(table.heading) - 1)], *table.rows]
    yield "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _arguments(figures: Figures) -> Iterator[str]:
    reserve, copy, perf, woken, perf_woken = (
        figures.row("A record", name)
        for name in ("ring buffer: reserve, fill, submit", "ring buffer: fill, output", "perf ring: fill, output",
                     "reserve, reader woken each time", "perf ring, reader woken each time")
    )  # fmt: skip
    yield (
        "**The perf ring wastes a copy.** It does, and that is not what it costs. A record of 64 bytes takes "
        f"{reserve[1]:.0f} ns written in place, {copy[1]:.0f} ns built elsewhere and copied into the ring buffer, and "
        f"{perf[1]:.0f} ns copied into a perf ring; one of 1024 bytes {reserve[3]:.0f}, {copy[3]:.0f} and "
        f"{perf[3]:.0f}. The copy is the difference of the first two; what comes on top is the event, its time and its "
        "header, which each record pays whatever its size. So a perf ring's record costs "
        f"{perf[0] / reserve[0]:.1f} times as much at 16 bytes and {perf[3] / reserve[3]:.1f} times at 1024."
    )
    yield (
        "**Waking the reader costs more than the record.** With a wake-up for each record the ring buffer takes "
        f"{woken[1]:.0f} ns for 64 bytes instead of {reserve[1]:.0f}, the perf ring {perf_woken[1]:.0f} instead of "
        f"{perf[1]:.0f}. The ring buffer wakes by itself only a reader that has read all there was; a perf ring has to "
        "be told when. sonde has it wake at a quarter of a ring, and looks at it 50 times a second."
    )
    ring, divided = (
        figures.row("Memory", "ring buffer: reserve, fill, submit", "64 bytes"),
        figures.row("Memory", "perf ring: fill, output", "64 bytes"),
    )
    yield (
        "**A perf ring for each CPU wastes memory.** A burst of one CPU has all of a ring buffer and its own ring only "
        f"of the others. A megabyte takes {ring[1]:,.0f} records of 64 bytes in a ring buffer, {divided[1]:,.0f} where "
        f"each CPU of this machine has its part, and would take {divided[2]:,.0f} on 64 CPUs. A record is larger, too: "
        f"{divided[0]:.0f} bytes instead of {ring[0]:.0f}, since it has a time and a perf header."
    )
    apart = figures.rest("Order", "perf rings, one after the other", 2, r"\((.*)\)")
    merged = figures.rest("Order", "perf rings, merged by time", 2, r"\((.*)\)")
    shared = figures.rest("Order", "ring buffer", 2, r"\((.*)\)")
    reading = [figures.rest("Order", name, 3, r"(.*) ns") for name in ("ring buffer", "perf rings, merged by time")]
    yield (
        f"**Perf rings lose the order.** Read one after the other, {apart} of two CPUs' records come behind one that "
        f"is later. Merged by their times it is {merged}, against {shared} in the ring buffer; what is left in both is "
        "the moment between the program's look at the clock and the record's place. The order is paid for by the "
        f"reader: {reading[1]} ns a record instead of {reading[0]}."
    )
    one = figures.row("A packet, in XDP", "perf ring: packet appended (one copy)")
    two = figures.row("A packet, in XDP", "perf ring: load, output (two copies)")
    plain = figures.row("A packet, in XDP", "ring buffer: load, output (two copies)")
    yield (
        "**Two copies of a packet cost twice.** The second copy reads what the first has just put into the cache. "
        f"To load the packet first and then write it to the same ring takes {two[0] / one[0]:.2f} times as long as to "
        f"have it appended at 64 bytes, {two[2] / one[2]:.2f} times at 1,500 and {two[4] / one[4]:.2f} times at "
        f"65,000: {one[0]:.0f}, {one[2]:.0f} and {one[4]:,.0f} ns for one copy, {two[0]:.0f}, {two[2]:.0f} and "
        f"{two[4]:,.0f} for two. The perf ring's own price weighs more where packets are short: two copies into the "
        f"ring buffer take {plain[0]:.0f} ns at 64 bytes and {plain[4]:,.0f} at 65,000."
    )
    snap = figures.row("A packet, in XDP", "ring buffer: reserve 1536, load (one copy)")
    largest = figures.row("A packet, in XDP", "ring buffer: reserve 65400, load (one copy)")
    yield (
        "**The verifier bounds the size.** Room is reserved in a size known beforehand, so a program that loads into "
        f"the ring buffer takes the longest packet's room for each: with 1,536 bytes it takes {snap[2]:.0f} ns for a "
        f"packet of 1,500 and does not take longer ones at all; with 65,400 it takes any, {largest[0]:.0f} ns for one "
        "of 64 bytes, and 64 of those fill 4 MiB (see the losses). To build records of any length needs memory of that "
        "size for each CPU, which the kernel's per-CPU arrays do not have (32 KiB); sonde's scratch memory is an "
        "array by CPU. The appended packet needs none: the program has its own "
        "values on the stack or in a scratch frame, and gives the length in the flags. What bounds it is the perf "
        f"record's own size, a u16: head and packet are at most {LARGEST_RECORD:,} bytes, to which sonde cuts the "
        "packet, since "
        "beyond that the kernel would let the size wrap."
    )
    yield (
        "**Perf rings lose events.** Every way loses what finds no room, and every way tells: the program sees the "
        "refusal, and counts it. In all the runs below what was read and what was refused is what was fired, to the "
        "last record. How much it is depends on the reader and on the memory, not on the way."
    )


def _one_copy() -> Iterator[str]:
    """The instructions around the call that writes a captured packet, as sonde generates them."""
    done = subprocess.run([SONDE, "-e", "--disasm", "-n", PROGRAM], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if "call bpf_perf_event_output" in line)
    calls = dict.fromkeys(re.findall(r"call (bpf_\w+)", done.stdout))
    yield _filled(
        f"`{PROGRAM}` calls {', '.join(f'`{name}`' for name in calls)}, and none that reads a packet. Its own part of "
        "the record is behind r4 and r5 long; the upper half of r3, the flags, is how much of the packet the kernel "
        "appends. Where that comes from is r1, the context: `bpf_skb_event_output` (for XDP "
        "`bpf_xdp_event_output`, net/core/filter.c) hands it down to `__output_copy`, which copies from the packet's "
        "pages and fragments into the ring's pages, once."
    )
    yield "".join(f"    {line.strip()}\n" for line in lines[at - _BEFORE_CALL : at + 1])
