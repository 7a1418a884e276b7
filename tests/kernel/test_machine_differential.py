"""Random programs do in the embedded engine's machine what they do in the kernel.

A long run: SONDE_EXAMPLES=20000 pytest -rP tests/kernel/test_machine_differential.py
"""

from collections import Counter

import pytest
from hypothesis import given
from support.bpf.bpf_programs import samples, touches_memory
from support.bpf.embedded_runs import single_processor
from support.bpf.machine_differential import REFUSED, SAME, compare
from support.suite.example_counts import long_run

pytestmark = pytest.mark.examples

TOUCHING = "uses maps, rings or packets"


@pytest.fixture(scope="module", autouse=True)
def _one_cpu():
    with single_processor():
        yield


@pytest.mark.long
def test_machine_and_kernel_agree():
    found = Counter()

    @long_run(300)
    @given(samples())
    def agree(sample):
        verdict = compare(sample)
        assert verdict in (SAME, REFUSED)
        found.update((verdict, TOUCHING) if verdict == SAME and touches_memory(sample) else (verdict,))

    agree()
    programs = found[SAME] + found[REFUSED]
    print(f"{programs} programs: {dict(found)}")
    assert found[SAME] >= 0.5 * programs
    assert found[TOUCHING] >= 0.3 * programs
