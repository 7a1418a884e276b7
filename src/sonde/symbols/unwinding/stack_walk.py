"""Walking a stack that is at hand, by the same tables as programs do (`codegen/routines/unwinding.py`): of a thread
that stands still, or from a copy of registers and stack.

Where the walk ends before the outermost frame a word says why (`model/stack_remarks.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import registers, unwinding
from sonde.model.stack_remarks import (
    NO_CODE,
    NO_OBJECT,
    NO_POINTER,
    NO_RULE,
    STACK_ENDS,
    TOO_MANY,
    WIDTH,
    remark_word,
)
from sonde.symbols.dwarf.frame_rules import (
    AT_FRAME,
    AT_STACK,
    BY_FRAME_POINTER,
    END,
    FROM_BASE,
    FROM_FRAME,
    FROM_REGISTER,
    IN_REGISTER,
    LINKAGE,
    SIGNAL,
    UNKNOWN,
    Rule,
)
from sonde.typed import NamedTuple

MOST_FRAMES = 1024
"""Addresses of a stack; programs record fewer, but with `-xmaxframes`."""

_MOST_SWITCHES = 64
"""How often a walk may come to an address below that of the frame before: where handlers of signals have stacks of
their own."""

_WORD, _U64 = 8, (1 << 64) - 1

Word = Callable[[int], int | None]
"""What is in memory at an address, None where that is not known."""


class CodeRule(NamedTuple):
    """What is known of an address: whether it is in code, and in an object that is here; the rule, None where there is
    no table; and whether frame pointers are kept, which lead from one stack to another (`elf/go_objects.py`)."""

    is_code: bool
    is_here: bool
    rule: Rule | None
    keeps: bool = False


NOWHERE, ABSENT, WITHOUT_TABLE = CodeRule(False, False, None), CodeRule(True, False, None), CodeRule(True, True, None)


class CopiedStack(NamedTuple):
    """The bytes of a stack from the stack pointer on."""

    start: int
    data: bytes | memoryview

    def word(self, address: int) -> int | None:
        at = address - self.start
        return int.from_bytes(self.data[at : at + _WORD], "little") if 0 <= at <= len(self.data) - _WORD else None


class _EndError(Exception):
    """The walk ends; `reason` is why, 0 at the outermost frame."""

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


def walk(taken: bytes, word: Word, code: Callable[[int], CodeRule], room: int = 0) -> tuple[int, ...]:
    """The addresses from a struct pt_regs on, the innermost first; `room` is how many bytes of the stack
    are at hand, 0 if not so many were to be had."""
    if int.from_bytes(taken[registers.MODE : registers.MODE + _WORD], "little") == registers.MODE_32_BIT:
        return _register(taken, registers.PROGRAM_COUNTER), remark_word(WIDTH)
    walking = _Walk(taken, word, code)
    try:
        while True:
            walking.step()
    except _EndError as end:
        reason = end.reason
    return (*walking.found, *((remark_word(reason, room if reason == STACK_ENDS else 0),) if reason else ()))


class _Walk:
    def __init__(self, taken: bytes, word: Word, code: Callable[[int], CodeRule]) -> None:
        self.found: list[int] = []
        self._taken, self._word, self._code = taken, word, code
        self._pc = self._look = _register(taken, registers.PROGRAM_COUNTER)
        self._stack = _register(taken, registers.STACK_POINTER)
        self._frame = _register(taken, registers.FRAME_POINTER)
        self._base = _register(taken, registers.BASE)
        self._switches = 0

    def step(self) -> None:
        """Note the frame, and go to its caller's. Raises _EndError."""
        if not self._pc:
            raise _EndError(0)
        code = self._code(self._look)
        if not code.is_code and self.found:
            raise _EndError(NO_CODE)
        self.found.append(self._pc)
        if len(self.found) >= MOST_FRAMES:
            raise _EndError(TOO_MANY)
        if not code.is_here:
            raise _EndError(NO_OBJECT)
        before = self._stack
        if code.rule is None:
            self._follow_frame_pointer(code.keeps)
        else:
            self._follow_rule(code.rule)
        if self._stack <= before:
            self._switches += 1
            if self._switches > _MOST_SWITCHES:
                raise _EndError(NO_RULE)

    def _follow_frame_pointer(self, keeps: bool) -> None:
        pointer = self._frame
        if not pointer:
            raise _EndError(0)
        if pointer < self._stack and not keeps:
            raise _EndError(NO_POINTER)
        self._frame = self._at(pointer)
        self._return_to(self._at(pointer + _WORD), pointer + 2 * _WORD)

    def _follow_rule(self, rule: Rule) -> None:
        if rule.kind == END:
            raise _EndError(0)
        if rule.kind == UNKNOWN:
            raise _EndError(NO_RULE)
        if rule.kind == SIGNAL:
            self._interrupted()
            return
        address = self._frame_address(rule) & _U64
        caller = self._at(address - _WORD)
        before = self._frame
        self._frame = self._saved(self._frame, rule.pointer, rule.pointer_by, address, before)
        self._base = self._saved(self._base, rule.base, rule.base_by, address, before)
        self._return_to(caller, address)

    def _interrupted(self) -> None:
        """To what a signal has interrupted, whose registers the kernel has put on the stack."""
        context = self._stack
        self._frame = self._at(context + unwinding.CONTEXT_FRAME_POINTER)
        self._base = self._at(context + unwinding.CONTEXT_BASE)
        self._pc = self._look = self._at(context + unwinding.CONTEXT_COUNTER)
        self._stack = self._at(context + unwinding.CONTEXT_STACK_POINTER)

    def _return_to(self, caller: int, stack: int) -> None:
        self._pc, self._look, self._stack = caller, caller - 1 & _U64, stack

    def _frame_address(self, rule: Rule) -> int:
        kind, offset = rule.kind, rule.offset
        if kind == FROM_FRAME:
            return self._frame + offset
        if kind == FROM_BASE:
            return self._base + offset
        if kind == AT_FRAME:
            return self._at(self._frame + offset) + rule.more
        if kind == AT_STACK:
            return self._at(self._stack + offset) + rule.more
        if kind == FROM_REGISTER:
            # Only of the innermost frame are all registers known.
            if len(self.found) > 1:
                raise _EndError(NO_RULE)
            return _register(self._taken, rule.more) + offset
        pushed = kind == LINKAGE and self._look & unwinding.LINKAGE_ENTRY - 1 >= rule.more
        return self._stack + offset + _WORD * pushed

    def _saved(self, value: int, offset: int, by: int, address: int, frame: int) -> int:
        if by == IN_REGISTER:
            return value
        place = (frame if by == BY_FRAME_POINTER else address) + offset
        # Where a function ends it has taken registers from the stack again, of which tables do not tell.
        return value if place < self._stack else self._at(place)

    def _at(self, address: int) -> int:
        found = self._word(address & _U64)
        if found is None:
            raise _EndError(STACK_ENDS)
        return found


def _register(taken: bytes, at: int) -> int:
    return int.from_bytes(taken[at : at + _WORD], "little")
