"""The frame around a function that takes variables as parameters: a function of its own, which is fired, has them
fetched (`fetching.py`) to a buffer, and calls the user's.

A fetch that fails leaves zeros, and the first one's error is what the user's function gets with the variables.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction
from sonde.model.units import whole_words
from sonde.typed import NamedTuple

MOST_ARGUMENTS = 3
"""Variables that have a register each: r3 to r5."""

ON_STACK = 256
"""Bytes of a structure that is on the frame's stack, of the 512 that it shares with all functions below it."""

BUSY, LOST, VALUES = 0, 8, 16
"""A larger one is in memory of the CPU, `VALUES` bytes into the value of a map. A firing takes it by writing 1 to the
word BUSY, since programs can be preempted; one that finds it taken is counted in LOST and does not happen."""

_WORD = 8
_CONTEXT, _ERROR, _BUFFER = i.R6, i.R7, i.R9


class CallingCode(NamedTuple):
    """The code, the instruction that calls the user's function, the one that calls what fetches, and the ones that
    refer to the map of a CPU."""

    code: list[Instruction]
    call: int
    fetch: int
    map_references: list[int]


def frame(size: int, is_structure: bool) -> CallingCode:
    """The frame of a buffer of `size` bytes, which arrive as a structure or as numbers of 8 bytes each."""
    writer = _Writer(whole_words(size))
    writer.begin()
    writer.fetch()
    return writer.finish(is_structure)


class _Writer:
    """Collects code."""

    def __init__(self, room: int) -> None:
        self._code: list[Instruction] = []
        self._room = room
        self._in_map = room > ON_STACK
        self._maps: list[int] = []
        self._leave: list[int] = []
        self._fetch = 0

    def begin(self) -> None:
        self._add(i.mov_reg(_CONTEXT, i.R1))
        if self._in_map:
            self._take_memory()
        else:
            self._add(i.mov_reg(_BUFFER, i.R10), i.alu64_imm(i.ADD, _BUFFER, -self._room))

    def _take_memory(self) -> None:
        self._add(i.store_imm(4, i.R10, -4, 0), i.mov_reg(i.R2, i.R10), i.alu64_imm(i.ADD, i.R2, -4))
        self._maps.append(len(self._code))
        self._add(*i.ld_map_fd(i.R1), i.call(NUMBERS["map_lookup_elem"]))
        self._leave.append(len(self._code))
        self._add(i.jump_imm(i.JEQ, i.R0, 0, 0), i.mov_reg(_BUFFER, i.R0), i.mov_imm(i.R1, 1))
        self._add(i.atomic(_WORD, i.XCHG, _BUFFER, BUSY, i.R1), i.jump_imm(i.JEQ, i.R1, 0, 3))
        self._add(i.mov_imm(i.R1, 1), i.atomic_add(_WORD, _BUFFER, LOST, i.R1))
        self._leave.append(len(self._code))
        self._add(i.jump(0))

    def fetch(self) -> None:
        self._add(i.mov_reg(i.R1, _CONTEXT))
        self._address(i.R2)
        self._add(i.mov_imm(i.R3, self._room))
        self._fetch = len(self._code)
        self._add(i.call_local(0), i.mov_reg(_ERROR, i.R0))

    def _address(self, register: int) -> None:
        """Where the variables are."""
        self._add(i.mov_reg(register, _BUFFER))
        if self._in_map:
            self._add(i.alu64_imm(i.ADD, register, VALUES))

    def finish(self, is_structure: bool) -> CallingCode:
        """Call the user's function; what it returns is what the frame does."""
        self._add(i.mov_reg(i.R1, _CONTEXT))
        if is_structure:
            self._address(i.R2)
            self._add(i.mov_reg(i.R3, _ERROR))
        else:
            self._add(i.mov_reg(i.R2, _ERROR))
            for number in range(self._room // _WORD):
                self._add(i.load(_WORD, i.R3 + number, _BUFFER, _WORD * number))
        call = len(self._code)
        self._add(i.call_local(0))
        if self._in_map:
            self._add(i.mov_imm(i.R1, 0), i.store_reg(_WORD, _BUFFER, BUSY, i.R1))
            self._add(i.exit_())
            for each in self._leave:
                self._code[each] = self._code[each]._replace(offset=len(self._code) - each - 1)
            self._add(i.mov_imm(i.R0, 0))
        self._add(i.exit_())
        return CallingCode(self._code, call, self._fetch, self._maps)

    def _add(self, *instructions: Instruction) -> None:
        self._code.extend(instructions)
