"""Random programs do in the embedded engine's machine what they do in the kernel."""

from collections import Counter

from bpf_programs import KINDS, from_seed
from embedded_runs import single_processor
from machine_differential import LEFT_OUT, REFUSED, SAME, compare

COUNT = 300
FIRST = 100_000


def test_machine_and_kernel_agree():
    found = Counter()
    with single_processor():
        for seed in range(FIRST, FIRST + COUNT):
            verdict = compare(from_seed(seed, KINDS[seed % len(KINDS)]))
            assert verdict in (SAME, REFUSED, LEFT_OUT), f"program {seed}: {verdict}"
            found[verdict] += 1
    assert found[SAME] > 0.5 * COUNT
