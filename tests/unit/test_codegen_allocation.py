"""Register allocation: who may share a register, who must not, and what happens when there are too few."""

from support.bpf.bpf_machine import Machine

from sonde.bpf import instructions as bpf
from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.allocate import CALLEE_SAVED, SCRATCH, allocate
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.emit import emit
from sonde.codegen.intermediate.ir import Imm, Reg


def run(builder, *arguments, helpers=None):
    """The function's result, without any pass but allocation."""
    code = emit(builder.function, allocate(builder.function))
    return Machine(code.instructions, helpers=helpers or {}).run(*arguments)


def many(b, count):
    """That many values from one parameter, all different."""
    return [b.alu("mul", b.function.parameters[0], Imm(2 * n + 3)) for n in range(count)]


def total(b, values):
    result = values[0]
    for value in values[1:]:
        result = b.alu("add", result, value)
    return result


def test_values_across_a_call_are_in_callee_saved_registers():
    """Others would be lost."""
    b = Builder("f")
    values = many(b, 3)
    b.call(7)
    b.ret(total(b, values))
    allocation = allocate(b.function)
    assert {allocation.registers[v] for v in values} <= set(CALLEE_SAVED)
    assert not allocation.spilled


def test_more_values_than_registers_live_on_the_stack():
    """Twelve values across a call: sums are right, r0 and r5 are kept out of the allocation."""
    b = Builder("f")
    values = many(b, 12)
    b.call(7)
    b.ret(total(b, values))
    allocation = allocate(b.function)
    assert len(allocation.spilled) >= 12 - len(CALLEE_SAVED)
    assert not set(allocation.registers.values()) & set(SCRATCH)
    assert run(b, 5, helpers={7: lambda *_: 0}) == sum(5 * (2 * n + 3) for n in range(12))


def test_values_that_do_not_live_at_once_share_a_slot():
    """A program of many parts needs no more of the stack than the largest of them."""
    b = Builder("f")
    result = b.copy(Imm(0))
    for part in range(20):
        values = [b.alu("add", b.function.parameters[0], Imm(part + n)) for n in range(12)]
        b.call(7)
        b.move(result, b.alu("add", result, total(b, values)))
    b.ret(result)
    slots = set(allocate(b.function).spilled.values())
    assert slots == set(range(len(slots)))
    assert len(slots) <= 14
    assert run(b, 5, helpers={7: lambda *_: 0}) == sum(5 + part + n for part in range(20) for n in range(12))


def test_arguments_are_moved_as_if_all_at_once():
    """A call whose arguments are the parameters in another order."""
    b = Builder("f", 5)
    p = b.function.parameters
    b.ret(b.call(7, p[1], p[0], p[4], p[2], p[3]))
    assert run(b, 1, 2, 3, 4, 5, helpers={7: lambda _, *a: int("".join(map(str, a)))}) == 21534


def test_a_right_operand_survives_until_it_is_read():
    """x = a - b with b's last use there: the copy of a does not go over b."""
    b = Builder("f", 2)
    x, y = b.function.parameters
    result = b.alu("sub", y, x)
    b.ret(b.alu("rsh", result, b.alu("sub", x, Imm(1))))
    assert run(b, 3, 43) == 10


def test_compare_and_exchange_works_with_every_operand_on_the_stack():
    """Its address, old and new value have registers only while it needs them."""
    b = Builder("f")
    slot = b.slot(8)
    b.store(slot, 0, 8, Imm(11))
    place, values = b.address(slot), many(b, 11)
    new, expected, seen = b.copy(Imm(99)), b.copy(Imm(11)), b.register()
    b.call(7)
    b.emit(ir.Atomic("cmpxchg", place, 0, 8, new, seen, expected))
    b.call(7)
    parts = [*values, new, expected, seen, b.load(place, 0, 8)]
    b.ret(total(b, parts))
    assert run(b, 1, helpers={7: lambda *_: 0}) == sum(2 * n + 3 for n in range(11)) + 99 + 11 + 11 + 99


def test_an_exchange_leaves_the_value_it_stored():
    """Also where nobody reads what was there before."""
    b = Builder("f")
    value, slot = b.function.parameters[0], b.slot(8)
    b.store(slot, 0, 8, Imm(1))
    b.emit(ir.Atomic("xchg", slot, 0, 8, value))
    b.ret(b.alu("add", value, b.load(slot, 0, 8)))
    assert run(b, 21) == 42


def test_a_value_returned_by_a_call_needs_no_copy():
    """The result stays in r0, an argument that came in r1 stays there."""
    b = Builder("f")
    b.ret(b.call(7, b.function.parameters[0]))
    assert emit(b.function, allocate(b.function)).instructions == [bpf.call(7), bpf.exit_()]


def test_equal_functions_are_allocated_equally():
    """Nothing depends on the order of sets."""

    def build():
        b = Builder("f")
        values = many(b, 14)
        b.call(7)
        b.ret(total(b, values))
        return allocate(b.function)

    assert build() == build()
    assert isinstance(next(iter(build().spilled)), Reg)
