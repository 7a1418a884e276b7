"""String routines: loops over words of padded strings (`codegen/strings.py` says how strings are kept)."""

from __future__ import annotations

from sonde.codegen.builder import Builder
from sonde.codegen.ir import Function, Imm


def compare_strings() -> Function:
    """(a, b, capacity): -1, 0 or 1 as strcmp; the first words that differ decide, read as big-endian numbers."""
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
    b.ret(b.choose("lt", b.swap(x, 8), b.swap(y, 8), lambda: Imm(-1), lambda: Imm(1)))
    b.place(equal)
    b.ret(Imm(0))
    return b.function


def strlen() -> Function:
    """(string, capacity): the number of characters before the NUL."""
    b = Builder("strlen", 2)
    string, capacity = b.function.parameters
    offset = b.copy(Imm(0))
    loop, full = b.label(), b.label()
    b.place(loop)
    word = b.load(b.in_register(b.alu("add", string, offset)), 0, 8)
    last = b.label()
    b.branch("eq", b.alu("rsh", word, Imm(56)), Imm(0), last)
    b.move(offset, b.alu("add", offset, Imm(8)))
    b.branch("lt", offset, capacity, loop, full)
    b.place(full)
    b.ret(offset)
    b.place(last)
    rest = b.copy(word)
    for _ in range(7):
        with b.when("eq", b.alu("and", rest, Imm(0xFF)), Imm(0)):
            b.ret(offset)
        b.move(rest, b.alu("rsh", rest, Imm(8)))
        b.move(offset, b.alu("add", offset, Imm(1)))
    b.ret(offset)
    return b.function
