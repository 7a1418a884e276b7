"""The steps that a firing is said to take are never less than what it takes."""

import random
from contextlib import suppress

import pytest
from support.bpf.bpf_interpreter import Interpreter
from support.bpf.bpf_programs import from_seed
from support.bpf.embedded_runs import can_run, run
from support.bpf.loop_nests import LOOP, RANDOM, LoopNests
from support.suite.example_counts import count_of

from sonde.bpf import instructions as i
from sonde.bpf.work.costs import MOST_PLAIN, MOST_TURNS
from sonde.bpf.work.estimate import estimate
from sonde.engines.program_work import estimate_of, work_maps
from sonde.model.spec import ProgramSpec
from sonde.runtime.machine.faults import BudgetError
from sonde.runtime.machine.linking import link
from sonde.runtime.machine.memory import MachineMemory

_BUDGET = 6_000


class CountingInterpreter(Interpreter):
    """`count` is how many instructions it has carried out."""

    count = 0

    def _pay(self):
        super()._pay()
        self.count += 1


def no_function(_number):
    return ""


def estimated(code):
    return estimate(code, {}, {}, no_function)


def counted(code, numbers):
    """The instructions of a run, at most the budget."""
    functions = {}
    memory = MachineMemory()
    linked = link(ProgramSpec("program", 1, 0, i.encode(code), (), ()), {}, lambda stamp: 0, functions)

    def loop(count, function, context, flags):
        if count > MOST_TURNS:
            return 0
        for index in range(count & 0xFFFFFFFF):
            if functions[function](index, context):
                break
        return 0

    helpers = {LOOP: loop, RANDOM: lambda: numbers.getrandbits(32)}
    execution = CountingInterpreter(linked, memory, helpers, functions, budget=_BUDGET)
    with suppress(BudgetError):
        execution.run()
    return execution.count


@pytest.mark.share(1)
@pytest.mark.examples
@pytest.mark.parametrize("tricks", [False, True], ids=["plain", "changed counters"])
@pytest.mark.parametrize("turns", [9, 300])
def test_nests_of_loops_take_no_more_than_is_said(turns, tricks):
    long = 0
    for seed in range(count_of(100 if turns < 100 else 10)):
        code = LoopNests(random.Random(seed), turns, tricks).code
        found = estimated(code)
        for run_ in range(2):
            taken = counted(code, random.Random(1000 * seed + run_))
            assert taken <= found.steps, f"program {seed}, run {run_}"
            long += taken > 1000
    assert long


def test_short_plain_loops_of_constants_are_counted_exactly():
    for count in (1, 7, 101):
        for step, test in ((1, i.JNE), (1, i.JLT), (3, i.JLT)):
            code = [
                i.mov_imm(6, 0), i.mov_imm(1, 5), i.alu64_imm(i.ADD, 6, step), i.jump_imm(test, 6, count, -3),
                i.mov_imm(0, 0), i.exit_(),
            ]  # fmt: skip
            taken = counted(code, random.Random(0))
            assert taken <= estimated(code).steps <= taken + (3 if count > 40 else 0)


@pytest.mark.parametrize("count", [1001, 100_003, 150_003])
@pytest.mark.parametrize("way", ["less", "not", "down", "halves", "copied"])
def test_loops_of_many_turns_are_counted_by_what_grows_or_falls(way, count):
    up, down = [i.alu64_imm(i.ADD, 6, 1)], [i.alu64_imm(i.ADD, 6, -1)]
    halves = [i.mov_reg(1, 6), i.alu64_imm(i.LSH, 1, 32), i.alu64_imm(i.RSH, 1, 32)]
    first, turn, test, register, bound = {
        "less": (0, up, i.JLT, 6, count), "not": (0, up, i.JNE, 6, count), "down": (count, down, i.JNE, 6, 0),
        "halves": (0, up + halves, i.JLT, 1, count), "copied": (0, [*up, i.mov_reg(1, 6)], i.JLT, 1, count),
    }[way]  # fmt: skip
    code = [i.mov_imm(6, first), *turn, i.jump_imm(test, register, bound, -len(turn) - 1), i.mov_imm(0, 0), i.exit_()]
    exact = 3 + count * (len(turn) + 1)
    assert exact <= estimated(code).steps <= min(exact, MOST_PLAIN) + 10 * count // 100


@pytest.mark.examples
def test_random_programs_take_no_more_than_is_said():
    ran = 0
    for seed in range(500_000, 500_000 + count_of(200)):
        sample = from_seed(seed)
        if not can_run(sample):
            continue
        made = []

        def counting(*arguments, made=made):
            made.append(CountingInterpreter(*arguments))
            return made[-1]

        run(sample, counting)
        found = estimate_of(sample.spec(), work_maps(sample.maps), {}, no_function, is_metered=False)
        assert made[-1].count <= found.steps, f"program {seed}"
        ran += 1
    assert ran


def test_loops_that_nothing_bounds_count_as_long_as_verifiers_follow_them():
    endless = [i.call(RANDOM), i.jump_imm(i.JNE, 0, 0, -2), i.mov_imm(0, 0), i.exit_()]
    found = estimated(endless)
    assert found.steps > MOST_PLAIN


def test_two_entries_into_a_loop_are_no_way_out():
    code = [
        i.call(RANDOM), i.jump_imm(i.JSET, 0, 1, 1), i.mov_imm(1, 1), i.mov_imm(2, 1), i.call(RANDOM),
        i.jump_imm(i.JSET, 0, 1, -4), i.jump_imm(i.JSET, 0, 2, -4), i.mov_imm(0, 0), i.exit_(),
    ]  # fmt: skip
    assert estimated(code).steps > MOST_PLAIN


def test_a_program_of_many_functions_and_loops_is_done_in_linear_time():
    """Each calls the next twice from a loop whose turns are not known: 2 to the power of their number, if followed."""
    code = []
    for number in range(60):
        code += [
            i.call(RANDOM),
            i.call_local(4),
            i.call_local(3),
            i.jump_imm(i.JNE, 0, 0, -4),
            i.mov_imm(0, 0),
            i.exit_(),
        ]
        assert len(code) == 6 * (number + 1)
    code += [i.mov_imm(0, 0), i.exit_()]
    estimated(code)
