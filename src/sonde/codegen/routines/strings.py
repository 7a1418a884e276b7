"""Comparing padded strings word by word (`codegen/expressions/strings.py` says how strings are kept)."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, FunctionAddress, Imm, Operand, SlotAddress


def compare_strings() -> BpfFunction:
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
    _order(b, x, y)
    b.place(equal)
    b.ret(Imm(0))
    return b.function


_LEFT, _RIGHT, _X, _Y = range(0, 32, 8)
"""What `compare_long` and its callback share, on the stack: both addresses, and the words that differ."""


def compare_long(name: str, capacity: int) -> BpfFunction:
    """(a, b): the same for two strings of `capacity` bytes, with bpf_loop: its callback is verified once, while of a
    jump backwards the verifier follows every iteration."""
    b = Builder(name, 2)
    left, right = b.function.parameters
    slot = b.slot(32)
    for offset, value in ((_LEFT, left), (_RIGHT, right), (_X, Imm(0)), (_Y, Imm(0))):
        b.store(slot, offset, 8, value)
    step = FunctionAddress(f"compare_word_{capacity}")
    b.call(NUMBERS["loop"], Imm(capacity // 8), step, SlotAddress(slot), Imm(0))
    x, y = b.load(slot, _X, 8), b.load(slot, _Y, 8)
    with b.when("eq", x, y):
        b.ret(Imm(0))
    _order(b, x, y)
    return b.function


def compare_word(name: str, capacity: int) -> BpfFunction:
    """(index, what is shared): stop where the words differ."""
    b = Builder(name, 2)
    index, shared = b.function.parameters
    with b.when("ge", index, Imm(capacity // 8)):
        b.ret(Imm(1))
    offset = b.alu("lsh", index, Imm(3))
    x, y = (
        b.load(b.in_register(b.alu("add", b.load(shared, text, 8), offset)), 0, 8) for text in (_LEFT, _RIGHT)
    )  # fmt: skip
    with b.when("ne", x, y):
        b.store(shared, _X, 8, x)
        b.store(shared, _Y, 8, y)
        b.ret(Imm(1))
    b.ret(Imm(0))
    return b.function


def _order(b: Builder, x: Operand, y: Operand) -> None:
    """Return the order of two strings by the first of their words that differ."""
    # Of two strings without characters one is NULL and the less, though what marks it is not 0.
    none = b.alu("and", b.alu("or", x, y), Imm(0xFF))
    first, second = b.copy(b.swap(x, 8)), b.copy(b.swap(y, 8))
    with b.when("eq", none, Imm(0)):
        b.move(first, b.swap(y, 8))
        b.move(second, b.swap(x, 8))
    b.ret(b.choose("lt", first, second, lambda: Imm(-1), lambda: Imm(1)))
