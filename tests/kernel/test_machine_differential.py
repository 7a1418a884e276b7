"""Random programs do in the embedded engine's machine what they do in the kernel."""

import pytest
from bpf_programs import samples
from embedded_runs import single_processor
from example_counts import long_run
from hypothesis import given
from machine_differential import REFUSED, SAME, compare


@pytest.fixture(scope="module", autouse=True)
def _one_cpu():
    with single_processor():
        yield


@long_run(300)
@given(samples())
def test_machine_and_kernel_agree(sample):
    assert compare(sample) in (SAME, REFUSED)
