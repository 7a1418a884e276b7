"""Every instruction on edge values, in both executions."""

import struct

import pytest
from support.bpf.bpf_interpreter import bare
from support.bpf.embedded_runs import EXECUTIONS
from support.bpf.instruction_cases import CASES, PAIRS, program

from sonde.runtime.machine.memory import MachineMemory

STEP = {"interpreter": 7, "translator": 1}
"""The reference is slow: it takes every seventh pair of values."""


@pytest.mark.share(36)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_instruction(case, execution):
    memory = MachineMemory()
    context = bytearray(32)
    address = memory.add(context)
    run = EXECUTIONS[execution](bare(program(case)), memory, {}, {}).run
    for a, b in PAIRS[:: STEP[execution]]:
        struct.pack_into("<QQ", context, 0, a, b)
        assert run(address) == 0
        assert struct.unpack_from("<QQ", context, 16) == case.model(a, b), (hex(a), hex(b))
