"""Subroutines that look into the traced process for the D libraries, or have the engine tell of it."""

from __future__ import annotations

from sonde.codegen.basis.faults import BAD_ADDRESS, USER_ACCESS, fault_if
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import zero
from sonde.codegen.expressions.resident import read_user
from sonde.codegen.expressions.strings import limit
from sonde.codegen.intermediate.arithmetic import signed
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree

_LOW_SEVEN = 0x7F7F7F7F7F7F7F7F
_BLANKS = 0x2020202020202020


def command_line(g: Generation, e: tree.Call, memory: Memory, size: int) -> None:
    """__command_line(start, end): the arguments between two addresses of the process, the NULs between them as blanks.

    They lie one behind the other, each with its NUL (`arg_start` and `arg_end` of struct mm_struct).
    """
    start, end = (g.value(argument) for argument in e.arguments)
    zero(g, memory, size)
    most = limit(g, size) - 1
    length = g.b.copy(g.b.alu("sub", g.b.alu("sub", end, start), Imm(1)))
    with g.b.when("slt", length, Imm(0)):
        g.b.move(length, Imm(0))
    with g.b.when("gt", length, Imm(most)):
        g.b.move(length, Imm(most))
    result = read_user(g, "probe_read_user", memory, length, start)
    fault_if(g, "slt", result, Imm(0), BAD_ADDRESS, start)
    done = g.b.label()
    for offset in range(0, size, 8):
        following = g.b.label()
        g.b.branch("le", length, Imm(offset), done, following)
        g.b.place(following)
        word = g.b.load(memory.base, memory.offset + offset, 8)
        blanks = g.b.alu("and", _blanks_for_zeros(g, word), _first_bytes(g, g.b.alu("sub", length, Imm(offset))))
        g.b.store(memory.base, memory.offset + offset, 8, g.b.alu("or", word, blanks))
    g.b.jump(done)
    g.b.place(done)


def cpu_time(g: Generation, _: tree.Call) -> Operand:
    """__cpu_time(): ns that the current thread has run since tracing began, where the engine can tell."""
    time = g.call("cpu_time", pure="cpu_time")
    fault_if(g, "slt", time, Imm(0), USER_ACCESS, Imm(0))
    return time


def _blanks_for_zeros(g: Generation, word: Operand) -> Operand:
    """A blank in each byte where the word has a zero: adding 0x7f carries into the top bit of all other bytes."""
    carried = g.b.alu("add", g.b.alu("and", word, Imm(_LOW_SEVEN)), Imm(_LOW_SEVEN))
    filled = g.b.alu("or", g.b.alu("or", carried, word), Imm(_LOW_SEVEN))
    return g.b.alu("and", g.b.alu("rsh", g.b.alu("xor", filled, Imm(-1)), Imm(2)), Imm(signed(_BLANKS)))


def _first_bytes(g: Generation, count: Operand) -> Operand:
    """All bits of a word's first `count` bytes, of all eight if there are more."""
    shift = g.b.copy(g.b.alu("lsh", count, Imm(3)))
    mask = g.b.copy(Imm(-1))
    with g.b.when("lt", shift, Imm(64)):
        g.b.move(mask, g.b.alu("sub", g.b.alu("lsh", g.b.copy(Imm(1)), shift), Imm(1)))
    return mask
