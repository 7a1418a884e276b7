"""The embedded engine's verifier and the kernel's agree on random programs, on changed ones and on sonde's own."""

from collections import Counter

import pytest
from support.bpf.bpf_mutations import mutated
from support.bpf.bpf_programs import from_seed
from support.bpf.compiled_programs import distinct, examples
from support.bpf.verifier_differential import BOTH_ACCEPT, OVER_REFUSAL, WRONG, compare_by, refusal

from sonde.runtime.verifier.rules import KERNEL, STRICT, USUAL

COUNT = 250
FIRST = 1_000

MOST_REFUSED = 0.02
"""Share of what the kernel accepts."""

RULES = USUAL, KERNEL


@pytest.mark.long
@pytest.mark.parametrize("make", [from_seed, mutated], ids=["random", "changed"])
def test_what_the_kernel_refuses_for_safety_is_refused_and_little_else(make):
    found = Counter()
    for seed in range(FIRST, FIRST + COUNT):
        for rules, (verdict, kind) in zip(RULES, compare_by(make(seed), RULES), strict=True):
            assert verdict != WRONG, f"program {seed}: {kind}"
            found[rules, verdict] += 1
    for rules in RULES:
        refused = found[rules, OVER_REFUSAL]
        assert refused <= MOST_REFUSED * (found[rules, BOTH_ACCEPT] + refused)


@pytest.mark.long
def test_all_programs_of_the_examples_are_accepted():
    programs = distinct(examples())
    assert len(programs) > 40
    assert [one.source for one in programs if refusal(one.program, one.maps, STRICT)] == []
