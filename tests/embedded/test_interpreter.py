"""The interpreter: what the instruction set's document says of calls, frames and memory."""

import pytest
from support.bpf.bpf_interpreter import Interpreter, bare

from sonde.bpf import instructions as i
from sonde.runtime.machine.faults import AccessError, BudgetError, DepthError
from sonde.runtime.machine.memory import MachineMemory

NOTHING: dict = {}


def test_a_local_call_has_its_own_frame_and_keeps_the_registers_of_the_caller():
    code = [
        i.mov_imm(i.R6, 5),
        i.store_imm(8, i.R10, -8, 7),
        i.mov_imm(i.R1, 30),
        i.call_local(4),
        i.load(8, i.R1, i.R10, -8),
        i.alu64_reg(i.ADD, i.R0, i.R1),
        i.alu64_reg(i.ADD, i.R0, i.R6),
        i.exit_(),
        i.load(8, i.R0, i.R10, -8),
        i.store_imm(8, i.R10, -8, 1000),
        i.mov_imm(i.R6, 99),
        i.alu64_reg(i.ADD, i.R0, i.R1),
        i.exit_(),
    ]
    assert Interpreter(bare(code), MachineMemory(), NOTHING, {}).run() == 42


def test_a_store_below_the_frame_is_a_fault():
    code = [i.store_imm(8, i.R10, -520, 1), i.exit_()]
    with pytest.raises(AccessError):
        Interpreter(bare(code), MachineMemory(), NOTHING, {}).run()


def test_an_endless_loop_uses_its_budget_up():
    with pytest.raises(BudgetError):
        Interpreter(bare([i.jump(-1), i.exit_()]), MachineMemory(), NOTHING, {}, budget=1000).run()


def test_endless_recursion_is_a_fault():
    with pytest.raises(DepthError):
        Interpreter(bare([i.call_local(1), i.exit_(), i.call_local(-1), i.exit_()]), MachineMemory(), NOTHING, {}).run()
