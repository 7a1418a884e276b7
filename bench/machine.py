"""What the embedded engine's machine costs: a loop beside the same loop written by hand in Python, and one run of a
program as the compiler makes it for `syscall:::entry { @[probefunc] = count() }`, with its map and its helpers.

Usage: python bench/machine.py [--iterations N] [--json FILE]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from common import Table, median, ratio, show

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from support.bpf.bpf_interpreter import Interpreter, bare

from sonde.bpf.assembler import assemble
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.translation.translator import translate

ITERATIONS = 1_000_000
REPEATS = 5

LOOP = """
r0 = 1
r2 = 0
r3 = {} ll
r4 = 1
again:
if r2 >= r1 goto done
r4 += r2
r4 ^= r3
r5 = r4
r5 <<= 7
r0 += r5
r5 = r4
r5 >>= 9
r0 ^= r5
r4 *= 31
r2 += 1
goto again
done:
exit
"""
CONSTANT = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def by_hand(count: int) -> int:
    """The loop as one would write it."""
    result, value, index = 1, 1, 0
    while index < count:
        value = (value + index & MASK) ^ CONSTANT
        result = (result + (value << 7) & MASK) ^ value >> 9
        value = value * 31 & MASK
        index += 1
    return result


UPDATE = """
r2 = *(u64 *)(r1 +8)
w6 = w2
if r6 >= 0x1d6 goto out
r1 = r6
r1 *= 4
*(u32 *)(r10 -8) = r1
*(u32 *)(r10 -4) = 0
r1 = 7 ll
r2 = r10
r2 += -8
call bpf_map_lookup_elem
if r0 == 0x0 goto out
r1 = 1
lock *(u64 *)(r0 +0) += r1
out:
r0 = 0
exit
"""


def seconds(action: Callable[[], object]) -> float:
    """The median of some runs, processor time."""
    taken = []
    for _ in range(REPEATS):
        begin = time.process_time()
        action()
        taken.append(time.process_time() - begin)
    return median(taken)


def loop_table(count: int) -> Table:
    linked = bare(assemble(LOOP.format(hex(CONSTANT)))[0])
    translated, interpreter = translate(linked, MachineMemory(), {}, {}), Interpreter(linked, MachineMemory(), {}, {})
    if not translated.run(1000) == interpreter.run(1000) == by_hand(1000):
        raise SystemExit("the loops give different results")
    hand, fast = seconds(lambda: by_hand(count)), seconds(lambda: translated.run(count))
    few = max(1, count // 50)
    slow = seconds(lambda: interpreter.run(few)) * count / few
    rows = [
        (name, f"{1e9 * taken / count:.0f} ns", ratio(taken, hand))
        for name, taken in (("by hand", hand), ("translated", fast), ("interpreted", slow))
    ]
    text = (
        f"{count:,} iterations of a loop of ten instructions, in both executions of the machine, and the same loop "
        "written in Python."
    )
    return Table("An arithmetic loop", text, ("", "an iteration", "to by hand"), rows)


def update_table(count: int) -> Table:
    memory = MachineMemory()
    value = memory.add(bytearray(8))
    context = memory.add(bytearray(16))
    lookups = {7: lambda key: value}
    helpers = {1: lambda handle, key: lookups[handle](key)}
    run = translate(bare(assemble(UPDATE)[0]), memory, helpers, {}, by_map={1: lookups}).run

    def repeat() -> None:
        for _ in range(count):
            run(context)

    taken = seconds(repeat)
    return Table(
        "One update of an aggregation",
        f"{count:,} runs of the program that counts system calls by their numbers, in the machine alone.",
        ("", "a run"),
        [("translated", f"{1e6 * taken / count:.2f} µs")],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What the embedded engine's machine costs")
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    show([loop_table(arguments.iterations), update_table(arguments.iterations // 5)], arguments.json)
