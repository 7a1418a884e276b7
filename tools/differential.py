"""Compare the embedded engine with the kernel on random programs, for as long as wanted; needs root.

    python3 tools/differential.py machine [--count N] [--first SEED]
        Every execution of the machine, and BPF_PROG_TEST_RUN: r0, packets, maps, ring buffers.
    python3 tools/differential.py verifier [--count N] [--first SEED] [-v]
        Both verifiers: as many random programs as changed ones, N in all, by the rules of the engine and by those of
        the kernel for root; and every program that sonde compiles for its examples and for the D programs in its tests.

The same numbers always make the same programs. Ends with status 1 if there is any difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from support.bpf.compiled_programs import Compiled

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS)]


def machine(first: int, count: int) -> int:
    from support.bpf.bpf_programs import from_seed, touches_memory
    from support.bpf.embedded_runs import EXECUTIONS, single_processor
    from support.bpf.machine_differential import LEFT_OUT, REFUSED, SAME, compare

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


class Verdicts(NamedTuple):
    """Verdicts of both verifiers, counted, and the kinds of refusals that only one of them made, each with examples."""

    counts: Counter[str]
    kinds: dict[tuple[str, str], list[str]]

    def add(self, name: str, verdict: str, kind: str) -> None:
        self.counts[verdict] += 1
        if kind:
            self.kinds.setdefault((verdict, kind), []).append(name)

    def show(self, title: str, kinds: int) -> None:
        from support.bpf.verifier_differential import BOTH_ACCEPT, OVER_REFUSAL

        total = self.counts.total()
        accepted = self.counts[BOTH_ACCEPT] + self.counts[OVER_REFUSAL]
        print(f"{title}: {total} programs, of which the kernel accepts {accepted}")
        for verdict, number in self.counts.most_common():
            print(f"{number:8}  {100 * number / total:6.2f} %  {verdict}")
        share = 100 * self.counts[OVER_REFUSAL] / max(accepted, 1)
        print(f"          {share:6.2f} % of what the kernel accepts is refused")
        for (verdict, kind), names in sorted(self.kinds.items(), key=lambda pair: -len(pair[1]))[:kinds]:
            print(f"    {len(names):5}  {verdict}: {kind}  ({', '.join(names[:3])})")


def verifier(first: int, count: int, verbose: bool) -> int:
    from support.bpf.bpf_mutations import mutated
    from support.bpf.bpf_programs import from_seed
    from support.bpf.verifier_differential import WRONG, compare_by

    from sonde.runtime.verifier.rules import KERNEL, USUAL

    every = {rules: Verdicts(Counter(), {}) for rules in (USUAL, KERNEL)}
    apart = {(rules, title): Verdicts(Counter(), {}) for rules in every for title in ("random", "changed")}
    for title, make in (("random", from_seed), ("changed", mutated)):
        for seed in range(first, first + count // 2):
            found = _tried(partial(compare_by, make(seed), tuple(every)), len(every))
            for rules, (verdict, kind) in zip(every, found, strict=True):
                apart[rules, title].add(f"{title} {seed}", verdict, kind)
                every[rules].add(f"{title} {seed}", verdict, kind)
    compiled = _compiled()
    for rules, name in ((USUAL, "as the engine verifies"), (KERNEL, "by the rules of the kernel for root")):
        print(f"== {name}")
        for title in ("random", "changed"):
            apart[rules, title].show(title, 0)
        every[rules].show("random and changed", 1000 if verbose else 40)
    print("== by the strict rules")
    compiled.show("compiled by sonde", 20)
    return 1 if any(each.counts[WRONG] for each in (*every.values(), compiled)) else 0


def _tried(compare: Callable[[], list[tuple[str, str]]], count: int) -> list[tuple[str, str]]:
    """The verdicts; a failure of the verifier itself is one too, and the next program is to be tried all the same."""
    try:
        return compare()
    except Exception as error:
        return [("the engine's verifier fails", repr(error)[:200])] * count


def _accepted_by_kernel(one: Compiled) -> list[tuple[str, str]]:
    from support.bpf.verifier_differential import judge, refusal

    from sonde.runtime.verifier.rules import STRICT

    return [judge(None, refusal(one.program, one.maps, STRICT))]


def _compiled() -> Verdicts:
    """What the kernel of this machine takes is taken by the engine's verifier too."""
    from support.bpf.compiled_programs import distinct, examples, of_tests
    from support.bpf.verifier_differential import BOTH_ACCEPT

    verdicts = Verdicts(Counter(), {})
    for one in distinct(examples() + of_tests()):
        ((verdict, kind),) = _tried(partial(_accepted_by_kernel, one), 1)
        verdicts.add(one.source, verdict, kind if verdict != BOTH_ACCEPT else "")
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("machine", "verifier"))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("-v", action="store_true", dest="verbose", help="list every kind of difference")
    given = parser.parse_args()
    begin = time.monotonic()
    if given.what == "machine":
        status = machine(given.first, given.count)
    else:
        status = verifier(given.first, given.count, given.verbose)
    print(f"{time.monotonic() - begin:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
