"""Whatever a program is, both executions do the same, and neither touches what is not the program's."""

import random as random_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bpf.bpf_interpreter import Interpreter, bare
from support.bpf.unverified_programs import control_flow, program
from support.suite.example_counts import long_run

from sonde.runtime.machine.faults import RunError
from sonde.runtime.machine.linking import LinkedProgram, immediate
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.machine.structure import second_slots
from sonde.runtime.machine.translation.translator import translate

pytestmark = pytest.mark.examples

BUDGET = 3000


def outcome(execute, code, fixed):
    """The result or the name of the error, and what all memory holds afterwards."""
    memory = MachineMemory()
    regions = [bytearray(range(64)), bytearray(range(100, 116)), memoryview(bytes(range(32)))]
    addresses = [memory.add(region) for region in regions]
    linked = bare(code)
    if fixed:
        slots = [
            slot - 1 for slot in second_slots(code)
            if immediate(code, slot - 1) >> 32 in {address >> 32 for address in addresses}
        ]  # fmt: skip
        linked = LinkedProgram("program", linked.code, values=frozenset(slots))
    seen = []

    def lookup(handle, key):
        seen.append((handle, key))
        return addresses[handle % 3] if handle & 1 else 0

    def clock():
        return -len(seen)

    def tail_call(context, handle, index):
        seen.append((context, handle, index))
        return (lambda: index - 1) if index & 3 == 1 else None

    helpers = {1: lookup, 5: clock, 12: tail_call}
    execution = execute(linked, memory, helpers, {}, budget=BUDGET)
    try:
        result = execution.run(addresses[0], 64, addresses[2])
    except RunError as error:
        result = type(error).__name__
    return result, [bytes(region) for region in regions], seen


@long_run(600)
@given(seed=st.integers(0, 1 << 64), fixed=st.booleans())
def test_any_program_does_the_same_in_both(seed, fixed):
    memory = MachineMemory()
    addresses = [memory.add(bytearray(1)) for _ in range(3)]
    code = program(random_module.Random(seed), addresses)
    expected = outcome(Interpreter, code, fixed)
    found = outcome(translate, code, fixed)
    # The two count differently how long a program runs.
    if "BudgetError" not in (expected[0], found[0]):
        assert found == expected


@long_run(400)
@given(seed=st.integers(0, 1 << 64), argument=st.integers(0, (1 << 64) - 1))
def test_any_control_flow_takes_the_same_way_in_both(seed, argument):
    linked = bare(control_flow(random_module.Random(seed)))
    expected = Interpreter(linked, MachineMemory(), {}, {}).run(argument, 1, 2, 3, 4)
    assert translate(linked, MachineMemory(), {}, {}).run(argument, 1, 2, 3, 4) == expected
