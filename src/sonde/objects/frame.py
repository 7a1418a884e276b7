"""The frame around a function that takes variables: a function of its own, which is fired, fetches them and calls it.

What it fetches is `spec.Fetch`, whose steps the embedded engine's helper takes, too; here each step is code. A fetch
that fails leaves zeros, and the first one's error is what the user's function gets with the variables.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction
from sonde.model.spec import Fetch, FetchStep
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
_CONTEXT, _ERROR, _NUMBER, _BUFFER = i.R6, i.R7, i.R8, i.R9


class CallingCode(NamedTuple):
    """The code, and the instruction that calls the user's function, and the ones that refer to the map of a CPU."""

    code: list[Instruction]
    call: int
    map_references: list[int]


def frame(fetches: Sequence[Fetch], size: int, is_structure: bool, is_user: bool) -> CallingCode:
    """The frame of fetches to a buffer of `size` bytes, which arrive as a structure or as numbers of 8 bytes each.

    `is_user`: memory is the process's, else the kernel's.
    """
    room = whole_words(size)
    writer = _Writer(room, is_user, room > ON_STACK)
    writer.begin()
    for each in fetches:
        writer.fetch(each)
    return writer.finish(room // 8, is_structure)


class _Writer:
    """Collects code. The word at r10 - 8 is where numbers are loaded to."""

    def __init__(self, room: int, is_user: bool, in_map: bool) -> None:
        self._code: list[Instruction] = []
        self._room = room
        self._read = NUMBERS["probe_read_user" if is_user else "probe_read_kernel"]
        self._in_map = in_map
        self._maps: list[int] = []
        self._leave: list[int] = []

    def begin(self) -> None:
        self._add(i.mov_reg(_CONTEXT, i.R1), i.mov_imm(_ERROR, 0))
        if self._in_map:
            self._take_memory()
        else:
            self._add(i.mov_reg(_BUFFER, i.R10), i.alu64_imm(i.ADD, _BUFFER, -self._room - _WORD))
        if not self._in_map:
            for at in range(0, self._room, _WORD):
                self._add(i.store_imm(_WORD, _BUFFER, at, 0))
        self._add(i.store_imm(_WORD, i.R10, -_WORD, 0))

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

    def fetch(self, fetch: Fetch) -> None:
        """One variable, or a piece of one, to its place in the buffer; failures jump behind it."""
        failed: list[int] = []
        at = fetch.offset + (VALUES if self._in_map else 0)
        self._add(i.mov_imm(_NUMBER, 0))
        for step in fetch.steps:
            self._step(step, failed)
        if fetch.kind == "value":
            self._add(i.store_reg(fetch.size, _BUFFER, at, _NUMBER))
        else:
            self._add(i.mov_reg(i.R1, _BUFFER), i.alu64_imm(i.ADD, i.R1, at))
            self._load(fetch.size, failed)
        if not failed:
            return
        behind = len(self._code)
        self._add(i.jump(0))
        for each in failed:
            self._code[each] = self._code[each]._replace(offset=len(self._code) - each - 1)
        self._add(i.jump_imm(i.JNE, _ERROR, 0, 1), i.mov_reg(_ERROR, i.R0))
        if self._in_map:
            # A read that cannot succeed leaves zeros in the place of what an earlier firing has put there.
            self._add(i.mov_reg(i.R1, _BUFFER), i.alu64_imm(i.ADD, i.R1, at), i.mov_imm(i.R2, fetch.size))
            self._add(i.mov_imm(i.R3, 0), i.call(NUMBERS["probe_read_kernel"]))
        self._code[behind] = i.jump(len(self._code) - behind - 1)

    def _step(self, step: FetchStep, failed: list[int]) -> None:
        match step.operation:
            case "register":
                self._add(i.load(8, _NUMBER, _CONTEXT, step.operand))
            case "constant":
                self._add(*i.ld_imm64(_NUMBER, step.operand))
            case "offset":
                self._add(*i.ld_imm64(i.R1, step.operand & (1 << 64) - 1), i.alu64_reg(i.ADD, _NUMBER, i.R1))
            case "dereference":
                self._add(i.mov_reg(i.R1, i.R10), i.alu64_imm(i.ADD, i.R1, -_WORD))
                self._load(step.operand, failed)
                self._add(i.load(step.operand, _NUMBER, i.R10, -_WORD))
            case "extend":
                bits = 64 - 8 * step.operand
                self._add(i.alu64_imm(i.LSH, _NUMBER, bits), i.alu64_imm(i.ARSH, _NUMBER, bits))
            case _:
                raise AssertionError(step)

    def _load(self, size: int, failed: list[int]) -> None:
        """So many bytes at the number, to where r1 points."""
        self._add(i.mov_imm(i.R2, size), i.mov_reg(i.R3, _NUMBER), i.call(self._read))
        failed.append(len(self._code))
        self._add(i.jump_imm(i.JNE, i.R0, 0, 0))

    def finish(self, words: int, is_structure: bool) -> CallingCode:
        """Call the user's function; what it returns is what the frame does."""
        self._add(i.mov_reg(i.R1, _CONTEXT))
        if is_structure:
            self._add(i.mov_reg(i.R2, _BUFFER), i.mov_reg(i.R3, _ERROR))
            if self._in_map:
                self._add(i.alu64_imm(i.ADD, i.R2, VALUES))
        else:
            self._add(i.mov_reg(i.R2, _ERROR))
            for number in range(words):
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
        return CallingCode(self._code, call, self._maps)

    def _add(self, *instructions: Instruction) -> None:
        self._code.extend(instructions)
