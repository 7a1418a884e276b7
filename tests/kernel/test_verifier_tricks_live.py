"""The kernel's verifier refuses the programs that would trick one: the engine's is tested with what is unsafe."""

import pytest
from support.bpf.bpf_programs import Sample
from support.bpf.kernel_machine import log_of
from support.bpf.refusal_classes import SAFETY, classify
from support.bpf.verified import MAPS, program
from support.bpf.verifier_tricks import TRICKS

from sonde.bpf.instructions import decode


def sample(kind, text):
    """The program with its maps."""
    spec = program(text, kind)
    maps = tuple(MAPS[name] for name in sorted({name for _, name in spec.map_references}))
    return Sample(
        spec.kind, tuple(decode(spec.code)), spec.map_references, maps, b"", spec.btf, spec.func_info
    )  # fmt: skip


@pytest.mark.share(45)
@pytest.mark.parametrize(("kind", "text", "_wanted"), TRICKS)
def test_the_kernel_refuses_it_too(kind, text, _wanted):
    log = log_of(sample(kind, text))
    assert log is not None
    assert classify(log) in SAFETY, log[-500:]
