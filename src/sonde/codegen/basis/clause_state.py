"""What a clause has at hand while it is generated: its frame of scratch memory, the record that is open, the loop it is
in, and where it goes on or leaves."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.codegen.basis.places import Memory
from sonde.codegen.intermediate.ir import Operand, Reg, Slot
from sonde.model.program import Variable
from sonde.model.records import Field
from sonde.model.units import whole_words
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.codegen.basis.repeating import Repeating


class Deferral(NamedTuple):
    """The clauses of a program whose firings may be broken off (`codegen/clauses/deferral.py`): their numbers by id,
    from 1; what of a clause that reads the process's memory may be repeated, by id; and where the clause-local
    variables are kept that more than one clause uses, the state of strtok(), and the scratch memory that clauses leave
    to others."""

    numbers: Mapping[int, int]
    repeats: Mapping[int, Repeating]
    kept: Mapping[Variable, int]
    tokens: int | None
    region: int | None


STACK_OBJECT = 64
"""Larger temporaries go to scratch memory: 512 bytes of stack are soon gone."""

STACK_TEMPORARIES = 160
"""What all temporaries of one statement may take of the stack, the rest goes to scratch memory."""


IN_USE = 8
"""The bytes at the beginning of a frame that say whether a firing holds it."""


class Scratch:
    """The layout of this firing's frame of per-CPU scratch memory; `base` points to it once somebody needs it."""

    def __init__(self, base: Reg | None = None, reserved: int = 0) -> None:
        self.base = base
        self.slots: list[Slot] = []
        self.size = reserved
        self._lasting = reserved
        self._next = reserved

    @property
    def reserved(self) -> int:
        """The bytes that `reset` does not give back."""
        return self._lasting

    def take(self, size: int) -> int:
        offset = self._next
        self._next += whole_words(size)
        self.size = max(self.size, self._next)
        return offset

    def keep(self, size: int) -> int:
        """Memory behind everything in use now that `reset` will not give back."""
        offset = self.take(size)
        self._lasting = self._next
        return offset

    def mark(self) -> int:
        """Where free memory begins."""
        return self._next

    def back_to(self, mark: int) -> None:
        """Give back what was taken since `mark`, but for lasting memory."""
        self._next = max(mark, self._lasting)

    def reset(self) -> None:
        self._next = self._lasting


class OpenRecord(NamedTuple):
    """The record being written: where it begins, whether that is the ring (1) or a spare (0), and the bytes of its
    fixed part.

    One that is built in scratch memory instead has None for `reserved`. If it has long strings, `tail` counts the bytes
    that they take behind the fixed part, at most `most_tail`. If it ends in a packet, `appended` counts the bytes that
    the kernel is to put behind all that, and `packet` is the field for it; they are of the packet that the program is
    run for, or of `skb`, a struct sk_buff that the verifier knows as one.
    """

    base: Reg
    reserved: Reg | None
    fixed: int
    tail: Reg | None = None
    most_tail: int = 0
    appended: Reg | None = None
    packet: Field | None = None
    skb: Operand | None = None


class Carrying(NamedTuple):
    """The scratch memory that clauses of a firing leave to those behind (`codegen/expressions/region.py`): the
    clause-local variables that point there, the clauses that set these, the bytes of all, and a word of the frame with
    how many are taken."""

    variables: frozenset[Variable]
    givers: frozenset[int]
    size: int
    taken: Memory


class Region(NamedTuple):
    """A clause's scratch memory (`codegen/expressions/region.py`): `memory` is where it begins, `address` the same as a
    number, `top` how many bytes are allocated."""

    memory: Memory
    address: Operand
    top: Reg
    size: int

    @property
    def mask(self) -> int:
        """2**n - 1, at least `size`: what can be masked out of an offset within the region."""
        return (1 << self.size.bit_length()) - 1


class LoopBody(NamedTuple):
    """The function of a loop's body (`codegen/clauses/loops.py`): where `continue` and `break` go, and what it shares
    with the function whose loop it is: a stack slot of that, and memory in the scratch frame."""

    step: int
    stop: int
    environment: Reg
    memory: Memory


class FaultExit(NamedTuple):
    """Where a fault in the clause goes, with the registers that say what happened."""

    label: int
    code: Reg
    value: Reg
    pc: Reg
