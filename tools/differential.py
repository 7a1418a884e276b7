"""Compare the embedded engine with the kernel on random programs, for as long as wanted; needs root.

    python3 tools/differential.py machine [--count N] [--first SEED]
        Every execution of the machine, and BPF_PROG_TEST_RUN: r0, packets, maps, ring buffers.

The same numbers always make the same programs. Ends with status 1 if there is any difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "unit"), str(TESTS / "kernel")]


def machine(first: int, count: int) -> int:
    from bpf_programs import from_seed, touches_memory
    from embedded_runs import EXECUTIONS, single_processor
    from machine_differential import LEFT_OUT, REFUSED, SAME, compare

    found: Counter[str] = Counter()
    with single_processor():
        for seed in range(first, first + count):
            sample = from_seed(seed)
            try:
                verdict = compare(sample)
            except Exception as error:
                # Any failure is a finding, and the next program is to be tried all the same.
                verdict = f"failed: {error!r}"
            if verdict not in (LEFT_OUT, REFUSED, SAME):
                print(f"program {seed}: {verdict[:2000]}", flush=True)
                verdict = "different"
            found[verdict] += 1
            if verdict == SAME and touches_memory(sample):
                found["same, and uses maps, rings or packets"] += 1
    print(f"{count} programs from number {first}, executions: {', '.join(EXECUTIONS)}")
    for verdict, number in found.most_common():
        print(f"{number:8}  {100 * number / count:5.1f} %  {verdict}")
    return 1 if found["different"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("machine",))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    begin = time.monotonic()
    status = machine(given.first, given.count)
    print(f"{time.monotonic() - begin:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
