"""Numbers as text in any base from 2 to 36."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg
from sonde.codegen.routines.work import WORDS, at, get, put, repeat, step_of_loop, stop_if

LENGTH, _VALUE, _BASE = range(0, 24, 8)
"""Words of the state; `based` leaves in LENGTH where its text begins."""

END = 66
"""Where the text ends: 64 digits, or a prefix or a sign and fewer."""

TEXT = WORDS
SIZE = TEXT + 72


def based(name: str) -> BpfFunction:
    """(work, value, base): the text ends at TEXT + END; the index of its first character.

    Negative numbers have a sign in base 10 only, otherwise they are taken as unsigned. Those in base 16 begin with 0x,
    those in base 8 with 0.
    """
    b = Builder(name, 3)
    work, value, base = b.function.parameters
    size = b.copy(value)
    with b.when("eq", base, Imm(10)), b.when("slt", value, Imm(0)):
        b.move(size, b.negate(value))
    put(b, work, _VALUE, size)
    put(b, work, _BASE, base)
    put(b, work, LENGTH, Imm(END))
    repeat(b, "based_digit", Imm(64), work)
    with b.when("eq", value, Imm(0)):
        _prepend(b, work, Imm(ord("0")))
    with b.when("eq", base, Imm(16)):
        _prepend(b, work, Imm(ord("x")))
        _prepend(b, work, Imm(ord("0")))
    with b.when("eq", base, Imm(8)), b.when("ne", value, Imm(0)):
        _prepend(b, work, Imm(ord("0")))
    with b.when("eq", base, Imm(10)), b.when("slt", value, Imm(0)):
        _prepend(b, work, Imm(ord("-")))
    b.ret(get(b, work, LENGTH))
    return b.function


def based_digit(name: str) -> BpfFunction:
    """The last digit, before those that are there."""
    b, _, work = step_of_loop(name)
    value, base = get(b, work, _VALUE), get(b, work, _BASE)
    stop_if(b, "eq", value, Imm(0))
    digit = b.copy(b.alu("mod", value, base))
    with b.when("gt", digit, Imm(9)):
        b.move(digit, b.alu("add", digit, Imm(ord("a") - ord("0") - 10)))
    _prepend(b, work, b.alu("add", digit, Imm(ord("0"))))
    put(b, work, _VALUE, b.alu("div", value, base))
    b.ret(Imm(0))
    return b.function


def _prepend(b: Builder, work: Reg, character: Operand) -> None:
    """One character before the text; it is never longer than its room, which the verifier must be told."""
    start = get(b, work, LENGTH)
    with b.when("ge", start, Imm(1)), b.when("le", start, Imm(END)):
        place = b.in_register(b.alu("sub", start, Imm(1)))
        b.store(at(b, work, TEXT, place), 0, 1, character)
        put(b, work, LENGTH, place)
