"""Every instruction on edge values, in the kernel: the model that the machine is tested with is right."""

import struct

import pytest
from support.bpf.bpf_programs import Sample
from support.bpf.instruction_cases import CASES, PAIRS, program
from support.bpf.kernel_machine import loaded

from sonde.bpf import programs

TOGETHER = 24
"""Cases of one program: each program costs more than its runs."""

KNOWN = [case for case in CASES if case.in_kernel]


@pytest.mark.share(4)
@pytest.mark.parametrize("first", range(0, len(KNOWN), TOGETHER))
def test_instructions_in_the_kernel(first):
    cases = KNOWN[first : first + TOGETHER]
    sample = Sample(programs.SYSCALL, program(*cases), (), (), bytes(16 + 16 * len(cases)))
    with loaded(sample) as one:
        for a, b in PAIRS:
            one.sample = sample._replace(data=struct.pack("<QQ", a, b) + bytes(16 * len(cases)))
            found = struct.iter_unpack("<QQ", one.run().data[16:])
            for case, outcome in zip(cases, found, strict=True):
                assert outcome == case.model(a, b), (case.name, hex(a), hex(b))
