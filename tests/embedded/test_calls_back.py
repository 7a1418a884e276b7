"""Functions that helpers call back, and tail calls, in both executions."""

import pytest
from support.bpf.bpf_interpreter import bare
from support.bpf.embedded_runs import EXECUTIONS

from sonde.bpf import instructions as i
from sonde.bpf.assembler import assemble
from sonde.model.spec import ProgramSpec
from sonde.runtime.machine.execution import NO_TAIL_CALL
from sonde.runtime.machine.faults import AccessError, CallError, DepthError
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory

LOOP = 181
TAIL_CALL = 12

both = pytest.mark.parametrize("execute", EXECUTIONS.values(), ids=EXECUTIONS)


def loop(functions):
    def helper(count, function, context, flags):
        for index in range(count):
            if functions[function](index, context):
                return index + 1
        return count

    return helper


def prepare(execute, code, memory, functions, **options):
    spec = ProgramSpec("program", 1, 0, i.encode(code), (), ())
    linked = link(spec, {}, lambda stamp: 0, functions)
    return execute(linked, memory, {LOOP: loop(functions)}, functions, **options)


# Twice, from an outer callback with its own frame: the inner one adds the index to the number that its context is.
NESTED = [
    i.store_imm(8, i.R10, -8, 0),
    i.mov_imm(1, 4), *i.ld_function(2, 7), i.mov_reg(3, i.R10), i.alu64_imm(i.ADD, 3, -8), i.mov_imm(4, 0),
    i.call(LOOP),
    i.load(8, 0, i.R10, -8), i.exit_(),
    # outer(index, context): five times inner with the sum in its own frame, then added to the context's
    i.store_imm(8, i.R10, -8, 0), i.mov_reg(6, 2),
    i.mov_imm(1, 5), *i.ld_function(2, 11), i.mov_reg(3, i.R10), i.alu64_imm(i.ADD, 3, -8), i.mov_imm(4, 0),
    i.call(LOOP),
    i.load(8, 1, i.R10, -8), i.load(8, 2, 6, 0), i.alu64_reg(i.ADD, 2, 1), i.store_reg(8, 6, 0, 2), i.mov_imm(0, 0),
    i.exit_(),
    # inner(index, context)
    i.load(8, 3, 2, 0), i.alu64_reg(i.ADD, 3, 1), i.store_reg(8, 2, 0, 3), i.mov_imm(0, 0), i.exit_(),
]  # fmt: skip


@both
def test_callbacks_nest_with_frames_of_their_own(execute):
    execution = prepare(execute, NESTED, MachineMemory(), {})
    assert execution.run() == 4 * (0 + 1 + 2 + 3 + 4)
    assert execution.run() == 40


@both
def test_handles_of_several_programs_do_not_meet(execute):
    memory, functions = MachineMemory(), {}
    first = prepare(execute, NESTED, memory, functions)
    second = prepare(execute, NESTED, memory, functions)
    assert len(functions) == 4
    assert first.run() == second.run() == 40


@both
def test_a_function_s_address_is_no_memory(execute):
    code = [*i.ld_function(1, 3), i.load(8, 0, 1, 0), i.exit_(), i.mov_imm(0, 0), i.exit_()]
    with pytest.raises(AccessError):
        prepare(execute, code, MachineMemory(), {}).run()


@both
def test_tail_calls_go_33_deep_and_give_the_last_result(execute):
    code, _ = assemble("r6 = r1\nr2 = 0\nr3 = r6\nr1 = 77\ncall bpf_tail_call\nr6 += 100\nr0 += r6\nexit")
    left = 33
    memory = MachineMemory()

    def tail_call(context, handle, index):
        nonlocal left
        if not left:
            return None
        left -= 1
        return lambda: execution.run(index + 1)

    execution = execute(bare(code), memory, {TAIL_CALL: tail_call}, {})
    assert execution.run(1) == (NO_TAIL_CALL + 100 + 34) & (1 << 64) - 1
    assert not left


@both
def test_frames_are_given_back(execute):
    memory = MachineMemory()
    before = len(memory.regions)
    execution = prepare(execute, NESTED, memory, {})
    for _ in range(20):
        execution.run()
    assert len(memory.regions) <= before + 3
    execution.close()
    assert len(memory.regions) == before


@both
def test_frames_are_given_back_by_a_fault(execute):
    memory = MachineMemory()
    code = [i.mov_reg(1, i.R10), i.store_reg(8, 1, -8, 1), i.mov_imm(1, 0), i.load(8, 0, 1, 0), i.exit_()]
    execution = execute(bare(code), memory, {}, {})
    for _ in range(20):
        with pytest.raises(AccessError, match="invalid read of 8 bytes at 0x0"):
            execution.run()
    assert len(memory.regions) == 1


@both
def test_a_frame_is_zero_at_first(execute):
    code = [
        i.load(8, 0, i.R10, -8), i.store_imm(8, i.R10, -8, 5), i.mov_reg(1, i.R10), i.store_reg(8, 1, -16, 1),
        i.exit_(),
    ]  # fmt: skip
    execution = execute(bare(code), MachineMemory(), {}, {})
    assert [execution.run(), execution.run()] == [0, 0]


@both
def test_what_is_read_only_cannot_be_written(execute):
    memory = MachineMemory()
    address = memory.add(memoryview(bytes(8)))
    code = [i.load(8, 0, 1, 0), i.store_imm(1, 1, 3, 1), i.exit_()]
    with pytest.raises(AccessError, match="invalid write of 1 bytes at 0xffff800000000003"):
        execute(bare(code), memory, {}, {}).run(address)


@both
def test_an_error_of_a_helper_is_not_the_program_s(execute):
    def helper():
        return {}["missing"]

    with pytest.raises(KeyError, match="missing"):
        execute(bare([i.call(5), i.exit_()]), MachineMemory(), {5: helper}, {}).run()


@both
def test_a_helper_that_there_is_not(execute):
    with pytest.raises(CallError):
        execute(bare([i.call(5), i.exit_()]), MachineMemory(), {}, {}).run()


@both
def test_a_call_through_a_register(execute):
    code = [i.mov_imm(2, 5), i.Instruction(i.JMP | i.CALL | i.X, 2), i.exit_()]
    assert execute(bare(code), MachineMemory(), {5: lambda: 42}, {}).run() == 42


@both
def test_calls_nest_no_deeper_than_there_are_frames(execute):
    def chain(length):
        return [one for _ in range(length - 1) for one in (i.call_local(1), i.exit_())] + [i.mov_imm(0, 9), i.exit_()]

    assert execute(bare(chain(8)), MachineMemory(), {}, {}).run() == 9
    with pytest.raises(DepthError):
        execute(bare(chain(9)), MachineMemory(), {}, {}).run()


@both
def test_loads_from_a_packet(execute):
    def read(context, offset, size):
        data = bytes(range(1, 9))
        return int.from_bytes(data[offset : offset + size], "big") if 0 <= offset <= 8 - size else None

    code = [
        i.mov_reg(6, 1), i.mov_imm(7, 1), i.Instruction(i.LD | i.ABS | i.H, 0, 0, 0, 2), i.mov_reg(8, 0),
        i.Instruction(i.LD | i.IND | i.W, 0, 7, 0, 3), i.alu64_reg(i.ADD, 0, 8), i.exit_(),
    ]  # fmt: skip
    assert execute(bare(code), MachineMemory(), {}, {}, read_packet=read).run(1) == 0x0304 + 0x05060708
    behind = [i.mov_reg(6, 1), i.Instruction(i.LD | i.ABS | i.W, 0, 0, 0, 6), i.mov_imm(0, 7), i.exit_()]
    assert execute(bare(behind), MachineMemory(), {}, {}, read_packet=read).run(1) == 0


@both
def test_may_goto_ends_a_loop(execute, monkeypatch):
    for module in ("support.bpf.bpf_interpreter", "sonde.runtime.machine.translation.function"):
        monkeypatch.setattr(f"{module}.MAXIMUM_LOOPS", 100)
    code = [i.mov_imm(0, 0), i.Instruction(i.JMP | i.JCOND, 0, 0, 2), i.alu64_imm(i.ADD, 0, 1), i.jump(-3), i.exit_()]
    assert execute(bare(code), MachineMemory(), {}, {}).run() == 100
