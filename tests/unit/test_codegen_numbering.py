"""Value numbering, coalescing and dead-code removal, case by case."""

import pytest

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import Imm, Reg
from sonde.codegen.intermediate.link import optimize


def instructions(builder):
    """What is left of the function after all passes."""
    return [i for block in optimize(builder.function).blocks for i, _ in block.code]


def count(builder, kind):
    return sum(isinstance(i, kind) for i in instructions(builder))


def test_a_constant_is_no_register():
    """Operands of different kinds are different, whatever their numbers."""
    different = [Reg(8), Imm(8), ir.Slot(8, 8), ir.SlotAddress(ir.Slot(8, 8)), ir.MapDescriptor("8")]
    assert len(set(different)) == len(different)


@pytest.mark.parametrize("op", ["add", "and", "mul", "sub"])
def test_adding_a_register_is_not_adding_its_number(op):
    """x op v and x op n are two computations, though v is register number n."""
    b = Builder("f", 4)
    x, _, _, y = b.function.parameters
    b.ret(b.alu("xor", b.alu(op, x, y), b.alu(op, x, Imm(y.number))))
    assert sum(isinstance(i, ir.Alu) and i.op == op for i in instructions(b)) == 2


def test_a_constant_moved_behind_a_computation_of_that_number():
    """The move of a constant n joins nothing with register n."""
    b = Builder("f", 2)
    x, y = b.function.parameters
    total = b.alu("add", x, y)
    other = b.register()
    b.move(other, Imm(total.number))
    with b.when("eq", x, Imm(3)):
        b.move(other, y)
    b.ret(b.alu("add", total, other))
    assert any(isinstance(i, ir.Alu) and i.dst == total for i in instructions(b))


def test_equal_computations_are_made_once():
    """In one block and in those it dominates; commuted operands are the same."""
    b = Builder("f", 2)
    x, y = b.function.parameters
    first = b.alu("add", x, y)
    with b.when("gt", first, Imm(5)):
        b.ret(b.alu("add", y, x))
    b.ret(b.alu("mul", first, b.alu("add", x, y)))
    assert sum(isinstance(i, ir.Alu) and i.op == "add" for i in instructions(b)) == 1


def test_what_only_one_arm_computed_is_computed_again():
    """A computation in one arm does not dominate what follows."""
    b = Builder("f", 2)
    x, y = b.function.parameters
    kept = b.slot(8)
    with b.when("gt", x, Imm(5)):
        b.store(kept, 0, 8, b.alu("add", x, y))
    b.ret(b.alu("add", x, y))
    assert sum(isinstance(i, ir.Alu) and i.op == "add" for i in instructions(b)) == 2


def test_a_decided_branch_is_not_tested_again():
    """Behind x > 5, x > 5 holds and x <= 5 does not."""
    b = Builder("f", 2)
    x, _ = b.function.parameters
    with b.when("gt", x, Imm(5)):
        with b.when("gt", x, Imm(5)):
            b.ret(Imm(1))
        b.ret(Imm(2))
    with b.when("gt", x, Imm(5)):
        b.ret(Imm(3))
    b.ret(Imm(4))
    found = instructions(b)
    assert sum(isinstance(i, ir.Branch) for i in found) == 1
    assert [i.value for i in found if isinstance(i, ir.Return)] in ([Imm(1), Imm(4)], [Imm(4), Imm(1)])


def test_comparing_with_a_register_settles_nothing_about_its_number():
    """Behind x == v1, x == 1 is still open."""
    b = Builder("f", 2)
    x, y = b.function.parameters
    with b.when("eq", x, y):
        with b.when("eq", x, Imm(y.number)):
            b.ret(Imm(7))
        b.ret(Imm(8))
    b.ret(Imm(9))
    assert count(b, ir.Branch) == 2


def test_calls_without_effect_are_made_once_and_only_if_wanted():
    """Pure helpers; others are kept even if nobody reads their result, which is then not copied."""
    b = Builder("f")
    first, second = b.call(14, pure="pid"), b.call(14, pure="pid")
    b.call(5, pure="time")
    b.call(7)
    b.ret(b.alu("add", first, second))
    made = [i for i in instructions(b) if isinstance(i, ir.Call)]
    assert [i.helper for i in made] == [14, 7]
    assert made[1].dst is None


def test_loads_are_repeated_unless_nothing_changes_them():
    """Only invariant loads are made once."""
    b = Builder("f")
    base = b.function.parameters[0]
    b.load(base, 0, 8)
    values = [b.load(base, 0, 8), b.load(base, 0, 8), b.load(base, 8, 8, invariant=True),
              b.load(base, 8, 8, invariant=True)]  # fmt: skip
    b.ret(b.alu("add", b.alu("add", values[0], values[1]), b.alu("add", values[2], values[3])))
    assert count(b, ir.Load) == 3


@pytest.mark.parametrize("op", ["lsh", "rsh", "arsh", "div", "mod"])
def test_constants_the_verifier_refuses_stay_in_registers(op):
    """No shift by 64 or more and no division by 0 as an immediate, found by the builder or by the pass."""
    for late in (False, True):
        b = Builder("f")
        wrong = Imm(64 if op.endswith("sh") else 0)
        operand = b.copy(wrong) if late else wrong
        b.ret(b.alu(op, b.function.parameters[0], operand))
        assert not [i for i in instructions(b) if isinstance(i, ir.Alu) and isinstance(i.right, Imm)]


def test_unreachable_blocks_are_dropped():
    """What a constant condition rules out."""
    b = Builder("f")
    yes, no = b.label(), b.label()
    b.branch("eq", Imm(1), Imm(1), yes, no)
    b.place(no)
    b.call(7)
    b.place(yes)
    b.ret(Imm(0))
    assert instructions(b) == [ir.Return(Imm(0))]
