"""The embedded engine's verifier and the kernel's agree on random programs, on changed ones and on sonde's own."""

from collections import Counter

import pytest
from bpf_mutations import mutated
from bpf_programs import from_seed
from compiled_programs import distinct, examples
from verifier_differential import BOTH_ACCEPT, OVER_REFUSAL, WRONG, compare, refusal

COUNT = 250
FIRST = 1_000

MOST_REFUSED = 0.02
"""Share of what the kernel accepts."""


@pytest.mark.parametrize("make", [from_seed, mutated], ids=["random", "changed"])
def test_what_the_kernel_refuses_for_safety_is_refused_and_little_else(make):
    found = Counter()
    for seed in range(FIRST, FIRST + COUNT):
        verdict, kind = compare(make(seed))
        assert verdict != WRONG, f"program {seed}: {kind}"
        found[verdict] += 1
    assert found[OVER_REFUSAL] <= MOST_REFUSED * (found[BOTH_ACCEPT] + found[OVER_REFUSAL])


def test_all_programs_of_the_examples_are_accepted():
    programs = distinct(examples())
    assert len(programs) > 40
    assert [one.source for one in programs if refusal(one.program, one.maps, is_lenient=False)] == []
