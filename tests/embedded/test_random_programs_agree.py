"""Both executions of the machine give the same for random programs."""

import pytest
from hypothesis import assume, given, reject
from support.bpf.bpf_maps import SPECS
from support.bpf.bpf_programs import Sample, samples
from support.bpf.embedded_runs import EXECUTIONS, can_run, rewritten, run
from support.suite.example_counts import long_run

from sonde.bpf import programs
from sonde.bpf.assembler import assemble
from sonde.runtime.verifier.verify import Refusal, verify

pytestmark = pytest.mark.examples

REFERENCE = "interpreter"
OTHERS = sorted(set(EXECUTIONS) - {REFERENCE})


@pytest.mark.parametrize("name", OTHERS)
@long_run(150)
@given(sample=samples())
def test_executions_agree(name, sample):
    assume(can_run(sample))
    assert run(sample, EXECUTIONS[name]) == run(sample, EXECUTIONS[REFERENCE])


RESULT = "r0 = {}; exit"
VALUE = "r1 = map[results][0]; r2 = {}; *(u64 *)(r1 +8) = r2; r0 = 0; exit"
PACKET = "r2 = *(u32 *)(r1 +0); r3 = {}; *(u8 *)(r2 +3) = r3; r0 = 0; exit"
RECORD = """*(u64 *)(r10 -8) = {}; r1 = map[ring]; r2 = r10; r2 += -8; r3 = 8; r4 = 0
call bpf_ringbuf_output; r0 = 0; exit"""


def outcome(text):
    code, references = assemble(text.replace(";", "\n"))
    maps = tuple(SPECS[name] for _, name in references)
    accesses = (0,) if "*(u32 *)(r1 +0)" in text else ()
    return run(Sample(programs.XDP, tuple(code), references, maps, bytes(64), context_accesses=accesses))


@pytest.mark.parametrize("text", [RESULT, VALUE, PACKET, RECORD])
def test_whatever_differs_is_seen(text):
    assert outcome(text.format(1)) == outcome(text.format(1)) != outcome(text.format(2))


@long_run(100)
@given(sample=samples())
def test_verifier_rewrites_the_accesses_to_the_context_and_nothing_else(sample):
    reached = set()
    try:
        verified = verify(
            sample.spec(), {spec.name: spec for spec in sample.maps}, observe=lambda at, state: reached.add(at)
        )
    except Refusal:
        # A few programs are not valid; how few, the kernel's tests say.
        reject()
    # What no path leads to is left as it is.
    wanted = [
        new if at in reached else old for at, (old, new) in enumerate(zip(sample.code, rewritten(sample), strict=True))
    ]
    assert list(verified.code) == wanted
