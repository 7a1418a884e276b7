"""Working memory of the routines that go through strings character by character.

Such a routine takes the address of scratch memory: words that hold the state of its loop, then the texts. Its loop is
bpf_loop with a callback, and the callback keeps nothing but in that memory: what the verifier reads from there it
knows nothing about, so it goes through the loop's body once or twice, however long the strings are.
"""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import FunctionAddress, Imm, Operand, Reg, SlotAddress
from sonde.typed import NamedTuple

WORDS = 64
"""Bytes of state before the first text."""

OVERLAP = 8
"""Bytes behind a text that a load of a word at its last character may touch."""


class Work(NamedTuple):
    """The layout for strings of at most `capacity` bytes: offsets of both texts and the size of it all."""

    capacity: int

    @property
    def first(self) -> int:
        return WORDS

    @property
    def second(self) -> int:
        return WORDS + self.capacity + OVERLAP

    @property
    def size(self) -> int:
        return WORDS + 2 * (self.capacity + OVERLAP)


def repeat(b: Builder, callback: str, times: Operand, *pointers: Reg) -> None:
    """Call the routine (index, address of the pointers) so often, or until it returns 1."""
    slot = b.slot(8 * len(pointers))
    for number, pointer in enumerate(pointers):
        b.store(slot, 8 * number, 8, pointer)
    b.call(NUMBERS["loop"], times, FunctionAddress(callback), SlotAddress(slot), Imm(0))
    b.release(slot)


def step_of_loop(name: str) -> tuple[Builder, Reg, Reg]:
    """A callback of `repeat` to be filled in: its builder, the index, and the first of the pointers."""
    b = Builder(name, 2)
    index, pointers = b.function.parameters
    return b, index, b.in_register(b.load(pointers, 0, 8))


def get(b: Builder, work: Reg, word: int) -> Reg:
    """A word of the state, by its offset."""
    return b.in_register(b.load(work, word, 8))


def put(b: Builder, work: Reg, word: int, value: Operand) -> None:
    b.store(work, word, 8, value)


def stop_if(b: Builder, op: str, left: Operand, right: Operand) -> None:
    """End the loop if the comparison holds."""
    with b.when(op, left, right):
        b.ret(Imm(1))


def at(b: Builder, work: Reg, text: int, index: Operand) -> Reg:
    """The address of a character: `text` is the text's offset; the index must be known to be in bounds."""
    return b.in_register(b.alu("add", b.alu("add", work, index), Imm(text)))
