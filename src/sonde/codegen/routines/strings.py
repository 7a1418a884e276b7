"""String routines: loops over words of padded strings (`codegen/strings.py` says how strings are kept)."""

from __future__ import annotations

from sonde.codegen.builder import Builder
from sonde.codegen.ir import Function, Imm, Operand, Reg


def compare_strings() -> Function:
    """(a, b, capacity): -1, 0 or 1 as strcmp, NULL less than all others.

    The first words that differ decide, read as big-endian numbers.
    """
    b = Builder("compare_strings", 3)
    left, right, capacity = b.function.parameters
    offset = b.copy(Imm(0))
    loop, differ, equal = b.label(), b.label(), b.label()
    b.place(loop)
    x = b.load(b.in_register(b.alu("add", left, offset)), 0, 8)
    y = b.load(b.in_register(b.alu("add", right, offset)), 0, 8)
    b.branch("ne", x, y, differ)
    b.move(offset, b.alu("add", offset, Imm(8)))
    b.branch("lt", offset, capacity, loop, equal)
    b.place(differ)
    # Of two strings without characters one is NULL and the less, though what marks it is not 0.
    none = b.alu("and", b.alu("or", x, y), Imm(0xFF))
    first, second = b.copy(b.swap(x, 8)), b.copy(b.swap(y, 8))
    with b.when("eq", none, Imm(0)):
        b.move(first, b.swap(y, 8))
        b.move(second, b.swap(x, 8))
    b.ret(b.choose("lt", first, second, lambda: Imm(-1), lambda: Imm(1)))
    b.place(equal)
    b.ret(Imm(0))
    return b.function


def strlen() -> Function:
    """(string, capacity): the number of characters before the NUL."""
    b = Builder("strlen", 2)
    string, capacity = b.function.parameters
    offset = b.copy(Imm(0))
    loop, end = b.label(), b.label()
    b.place(loop)
    word = b.load(b.in_register(b.alu("add", string, offset)), 0, 8)
    last = b.label()
    b.branch("eq", b.alu("rsh", word, Imm(56)), Imm(0), last)
    b.move(offset, b.alu("add", offset, Imm(8)))
    b.branch("lt", offset, capacity, loop, end)
    b.place(last)
    rest = b.copy(word)
    for _ in range(7):
        b.branch("eq", b.alu("and", rest, Imm(0xFF)), Imm(0), end)
        b.move(rest, b.alu("rsh", rest, Imm(8)))
        b.move(offset, b.alu("add", offset, Imm(1)))
    b.place(end)
    b.ret(_forgotten(b, offset))
    return b.function


def _forgotten(b: Builder, length: Reg) -> Operand:
    """The same number, of which the verifier knows no more than that it has 16 bits.

    It follows every length through the rest of the program otherwise, and all pairs of two lengths. What is read from
    the middle of a stack slot it takes for unknown (check_stack_read_fixed_off, kernel/bpf/verifier.c).
    """
    slot = b.slot(8)
    b.store(slot, 0, 8, b.alu("lsh", length, Imm(16)))
    return b.load(slot, 2, 2)
