"""What a program is said to read of the target is all that it reads when it runs."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from support.bpf.bpf_interpreter import Interpreter, bare

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.engines.embedded.sources.pointers import pointers_read
from sonde.model.spec import ProgramSpec
from sonde.runtime.kernel_types import layout
from sonde.runtime.machine.faults import AccessError
from sonde.runtime.machine.memory import MachineMemory

READ, TASK, REGS = NUMBERS["probe_read_user"], NUMBERS["get_current_task_btf"], NUMBERS["task_pt_regs"]
NAMES = ("di", "si", "dx", "r10", "r8", "r9")
OFFSETS = [layout("struct pt_regs").offsets[name] for name in NAMES]
ARGUMENTS = [0x5000_0000 + 0x100_0000 * n for n in range(6)]
END = [i.mov_imm(0, 0), i.exit_()]
BEGIN = [i.call(TASK), i.mov_reg(1, 0), i.call(REGS), i.mov_reg(6, 0)]
"""r6: struct pt_regs."""


def known(code):
    return pointers_read(ProgramSpec("p", 0, 0, i.encode([*BEGIN, *code, *END]), (), ()))


def argument(dst, number):
    return i.load(8, dst, 6, OFFSETS[number])


def read(address, size=8, to=-64):
    return [i.mov_reg(3, address), i.mov_imm(2, size), i.mov_reg(1, 10), i.alu64_imm(i.ADD, 1, to), i.call(READ)]


def test_an_argument_through_registers_and_the_stack():
    code = [argument(7, 1), i.mov_reg(8, 7), i.store_reg(8, 10, -8, 8), i.load(8, 9, 10, -8), argument(7, 4)]
    assert known([*code, *read(9, 257, -512), *read(7, 8), *read(9, 16)]) == {(1, 0): 257, (4, 0): 8}


def test_so_far_from_an_argument_and_sizes_that_are_bounded():
    moved = [argument(7, 1), i.alu64_imm(i.ADD, 7, 24), i.alu64_imm(i.SUB, 7, 9), i.alu64_imm(i.ADD, 7, 1)]
    assert known([*moved, *read(7), *read(7, 12)]) == {(1, 16): 12}
    bounded = [argument(7, 1), argument(8, 2), i.alu64_imm(i.AND, 8, 255)]
    assert known([*bounded, *read(7)[:1], i.mov_reg(2, 8), *read(7)[2:]]) == {(1, 0): 255}
    unbounded = [argument(7, 1), argument(8, 2), i.alu64_imm(i.AND, 8, -8)]
    assert known([*unbounded, *read(7)[:1], i.mov_reg(2, 8), *read(7)[2:]]) is None


def test_on_both_ways_of_a_branch():
    ways = [argument(7, 0), i.jump_imm(i.JEQ, 7, 0, 1), argument(7, 0)]
    assert known([*ways, *read(7)]) == {(0, 0): 8}
    other = [argument(7, 0), i.jump_imm(i.JEQ, 7, 0, 1), argument(7, 1)]
    assert known([*other, *read(7)]) is None
    skipped = [argument(7, 0), i.jump_imm(i.JEQ, 7, 0, 5), *read(7)]
    assert known(skipped) == {(0, 0): 8}


@pytest.mark.parametrize(
    "code",
    [
        [argument(7, 1), i.alu64_imm(i.ADD, 7, 8), i.alu64_imm(i.ADD, 7, 1 << 20)],
        [argument(7, 1), i.alu64_imm(i.MUL, 7, 8)],
        [argument(7, 1), i.mov32_reg(7, 7)],
        [argument(7, 1), i.movsx(7, 7, 32)],
        [i.load(4, 7, 6, OFFSETS[1])],
        [i.load(8, 7, 6, layout("struct pt_regs").offsets["sp"])],
        [argument(7, 1), i.store_reg(8, 10, -64, 7), *read(7, 16), i.load(8, 7, 10, -64)],
        [argument(7, 1), i.store_reg(8, 10, -8, 7), i.store_imm(1, 10, -1, 0), i.load(8, 7, 10, -8)],
        [argument(7, 1), i.store_reg(8, 10, -8, 7), i.mov_imm(8, 1), i.atomic_add(8, 10, -8, 8), i.load(8, 7, 10, -8)],
        [i.mov_imm(7, 0x4000)],
        [i.mov_reg(7, 10)],
        [argument(0, 1), i.call(TASK), i.mov_reg(7, 0)],
        [i.mov_imm(1, 9), i.call(REGS), i.load(8, 7, 0, OFFSETS[1])],
    ],
)
def test_what_is_no_argument(code):
    assert known([*code, *read(7)]) is None


@pytest.mark.parametrize("other", [[i.mov_reg(8, 10)], [i.mov_imm(8, 0)], [i.load(8, 8, 10, -64)]])
@pytest.mark.parametrize("change", [[i.store_imm(8, 8, -8, 1)], [i.mov_reg(1, 8), *read(9)[1:2], i.call(READ)]])
def test_a_pointer_that_may_be_anywhere_on_the_stack(other, change):
    """r8 points there on one way, and elsewhere or nowhere on the other."""
    way = [i.mov_reg(8, 10), i.alu64_imm(i.ADD, 8, -16), i.jump_imm(i.JEQ, 7, 0, len(other)), *other]
    begin = [argument(7, 1), i.store_reg(8, 10, -24, 7), *way]
    end = [i.load(8, 9, 10, -24), *read(9)]
    assert known([*begin, *end]) == {(1, 0): 8}
    assert known([*begin, i.mov_reg(3, 7), *change, *end]) is None


def test_what_is_not_followed():
    fine = [argument(7, 1), *read(7)]
    assert known(fine) == {(1, 0): 8}
    assert known([*fine, i.call(NUMBERS["tail_call"])]) is None
    assert known([*fine, *i.ld_function(8, 2)]) is None
    assert known([*fine, i.mov_reg(1, 10), i.call_local(2)]) is None
    assert known([*fine, i.call_local(2), *END, *read(7)]) is None
    assert known([argument(7, 1), argument(8, 2), *read(7)[:1], i.mov_reg(2, 8), *read(7)[2:]]) is None


REGISTER, SLOT = st.integers(7, 9), st.sampled_from((-8, -16))
_STEPS = (
    st.builds(lambda dst, n: [argument(dst, n)], REGISTER, st.integers(0, 1)),
    st.builds(lambda dst, src: [i.mov_reg(dst, src)], REGISTER, st.integers(7, 10)),
    st.builds(lambda dst, by: [i.alu64_imm(i.ADD, dst, by)], REGISTER, st.sampled_from((0, 8, -16))),
    st.builds(lambda dst, mask: [i.alu64_imm(i.AND, dst, mask)], REGISTER, st.sampled_from((7, 15))),
    st.builds(lambda dst, src: [i.alu64_reg(i.SUB, dst, src)], REGISTER, REGISTER),
    st.builds(lambda dst, n: [i.mov_imm(dst, n)], REGISTER, st.integers(1, 16)),
    st.builds(lambda slot, src: [i.store_reg(8, 10, slot, src)], SLOT, REGISTER),
    st.builds(lambda slot, size, src: [i.store_reg(size, 10, slot + 4, src)], SLOT, st.sampled_from((1, 4)), REGISTER),
    st.builds(lambda dst, slot: [i.load(8, dst, 10, slot)], REGISTER, SLOT),
    st.builds(lambda size, src: [i.store_reg(size, 9, -8, src)], st.sampled_from((1, 4, 8)), REGISTER),
    st.builds(lambda dst, src: [i.load(8, dst, src, -8)], REGISTER, REGISTER),
    st.builds(lambda by: [i.mov_reg(9, 10), i.alu64_imm(i.ADD, 9, by)], st.sampled_from((0, -4, -8))),
    st.builds(
        lambda address, size: [*read(address)[:1], i.mov_reg(2, size), *read(address)[2:]], REGISTER, st.integers(7, 8)
    ),
    st.builds(read, REGISTER, st.integers(1, 16), st.sampled_from((-8, -12, -16, -20, -24, -64))),
)


_ANY, _ARGUMENT, _READ = st.one_of(_STEPS), _STEPS[0], _STEPS[-1]


@st.composite
def programs(draw):
    """Some steps of which each may be taken only if a bit of the word at the frame pointer - 128 says so."""
    pointer = [i.mov_reg(9, 10), i.alu64_imm(i.ADD, 9, draw(st.sampled_from((0, -4, -8, -16))))]
    code = [argument(7, 0), argument(8, 1), *pointer]
    code += [i.store_reg(8, 10, slot, draw(REGISTER)) for slot in (-8, -16)]
    steps = st.lists(st.tuples(st.one_of(_ARGUMENT, _ANY, _ANY, _READ), st.booleans()), min_size=1, max_size=6)
    for index, (step, is_guarded) in enumerate(draw(steps)):
        if is_guarded:
            code += [i.load(8, 5, 10, -128), i.jump_imm(i.JSET, 5, 1 << index, len(step))]
        code += step
    return [*code, i.load(8, 7, 10, draw(SLOT)), *read(draw(REGISTER))]


@pytest.mark.long
@settings(max_examples=400)
@given(programs(), st.integers(0, (1 << 12) - 1), st.binary(min_size=16, max_size=16))
def test_random_programs_read_what_is_said(code, ways, data):
    said = known(code)
    event("proved" if said else "in doubt" if said is None else "reads nothing")
    if said is None:
        return
    memory, done = MachineMemory(), []
    registers = bytearray(layout("struct pt_regs").size)
    for offset, value in zip(OFFSETS, ARGUMENTS, strict=True):
        registers[offset : offset + 8] = value.to_bytes(8, "little")
    place = memory.add(registers)

    def probe_read_user(to, size, address):
        done.append((address, size))
        memory.write(to, data[:size])
        return 0

    helpers = {TASK: lambda: 1 << 62, REGS: lambda task: place, READ: probe_read_user}
    whole = [*i.ld_imm64(5, ways), i.store_reg(8, 10, -128, 5), *BEGIN, *code, *END]
    try:
        Interpreter(bare(whole), memory, helpers, {}).run(0)
    except AccessError:
        event("a program that the verifier would refuse: what it read before counts")
    at = {ARGUMENTS[number] + offset: most for (number, offset), most in said.items()}
    for address, size in done:
        assert size <= at[address]
