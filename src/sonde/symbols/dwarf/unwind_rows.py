"""How each instruction of an object leads to its caller, as rows that programs in the kernel can search: made from the
frame descriptions in .eh_frame (LSB 10.6; DWARF 5, section 6.4), as far as rsp and rbp tell, which is nearly always.

A row is for the code from its address to the next row's: u32 address, counted from where the object's table begins, i32
offset of the frame address, i32 offset at which rbp was saved, u8 what the frame address is counted from, u8 what the
place of rbp is (0 if it is in its register still), two bytes of nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import sleb128, uleb128
from sonde.symbols.dwarf.frames import Code, Description, Frames
from sonde.symbols.elf import ElfFile
from sonde.symbols.errors import CostError
from sonde.symbols.file_bytes import Part
from sonde.typed import NamedTuple

SECTION = ".eh_frame"
ROW = struct.Struct("<IiiBBxx")

END, FROM_STACK, FROM_FRAME, AT_FRAME, SIGNAL, LINKAGE = range(6)
"""The frame address is: not known, or there is no caller; rsp and an offset; rbp and an offset; what is there in memory
(functions that align their stack); in the context that the kernel has left for a signal handler; that of an entry of
the procedure linkage table, rsp + 8, and 8 more once it has pushed."""

BY_FRAME_ADDRESS, BY_RBP = 1, 2
"""What the place at which rbp was saved is counted from."""

_RBP, _RSP, _RETURN = 6, 7, 16
_DEREFERENCE = 0x06
_MOST = 1 << 32
LARGEST = 16 << 20
"""Bytes of the section that are read; large programs have 3 to 10 MiB."""

_WORTH = 1e-6
"""Seconds that a byte of it may take beside what the object may take anyway: a file of 100 MB takes 2."""

_ROW_SIZE = 110
"""Bytes of memory that a row takes while all are made, about."""

_RANGE = 1 << 31


class _State(NamedTuple):
    register: int
    offset: int
    kind: int
    saved: int
    saved_by: int
    is_outermost: bool


_Rule = tuple[int, int, int, int]
"""Of a row: offset of the frame address, that of rbp, what the former and what the latter is counted from."""

_NOTHING: _Rule = (0, 0, END, 0)


def unwind_rows(file: ElfFile, base: int) -> bytes:
    """The rows of an object whose table begins at the link-time address `base`, by address; b"" if it has none.

    What cannot be read, or is too far away, is left out.
    """
    section = next((each for each in file.sections if each.name == SECTION and each.kind != 8), None)
    if section is None:
        return b""
    data = file.contents(section, LARGEST)
    file.costs.allow(len(data) * _WORTH)
    found: list[tuple[int, _Rule]] = []
    rules: dict[_Rule, _Rule] = {_NOTHING: _NOTHING}
    try:
        for description in Frames(data, section.address, True).descriptions():
            file.costs.check()
            if 0 <= description.start - base < _MOST - description.length:
                rows = _rows(description, base)
                file.costs.take(_ROW_SIZE * len(rows))
                # Few of them are different, and many are alike.
                found += [(address, rules.setdefault(rule, rule)) for address, rule in rows]
    except CostError:
        raise
    except DebugInfoError:
        pass
    finally:
        file.costs.give_back(_ROW_SIZE * len(found))
    return _joined(found)


def _joined(found: list[tuple[int, _Rule]]) -> bytes:
    """One row for each change; where one function's code ends and another's begins the latter counts."""
    found.sort(key=lambda row: (row[0], row[1] is not _NOTHING))
    rows: list[tuple[int, _Rule]] = []
    for address, rule in found:
        if rows and rows[-1][0] == address:
            rows.pop()
        if not rows or rows[-1][1] != rule:
            rows.append((address, rule))
    return b"".join(ROW.pack(address, *rule) for address, rule in rows)


def _rows(description: Description, base: int) -> list[tuple[int, _Rule]]:
    start = description.start - base
    end = start + description.length, _NOTHING
    if description.common.is_signal:
        return [(start, (0, 0, SIGNAL, 1)), end]
    try:
        machine = _Machine(description)
        found = machine.run(start)
    except (IndexError, DebugInfoError):
        return [(start, _NOTHING)]
    return [*(row for row in found if row[0] < end[0]), end]


def _rule(state: _State) -> _Rule:
    if state.is_outermost or state.kind == END or not -_RANGE <= state.offset < _RANGE:
        return _NOTHING
    if not state.saved_by or not -_RANGE <= state.saved < _RANGE:
        return state.offset, 0, state.kind, 0
    return state.offset, state.saved, state.kind, state.saved_by


class _Machine:
    """Runs the instructions of a description and notes a row where one advances."""

    def __init__(self, description: Description) -> None:
        self._code = description.common.code
        self._data_factor = description.common.data
        self._state = _State(_RSP, 8, FROM_STACK, 0, 0, False)
        self._kept: list[_State] = []
        self._rows: list[tuple[int, _Rule]] = []
        self._run(description.first, 0)
        self._initial = self._state
        self._rows.clear()
        self._own = description.own

    def run(self, start: int) -> Iterable[tuple[int, _Rule]]:
        """The rows of the code from `start` on. Raises IndexError or DebugInfoError."""
        last = self._run(self._own, start)
        return [*self._rows, (last, _rule(self._state))]

    def _run(self, code: Code, location: int) -> int:
        data, at, end = code
        while at < end:
            opcode, at = data[at], at + 1
            high = opcode >> 6
            if high == 1:
                self._rows.append((location, _rule(self._state)))
                location += (opcode & 0x3F) * self._code
            elif high == 2:
                offset, at = uleb128(data, at)
                self._save(opcode & 0x3F, offset * self._data_factor)
            elif high == 3:
                self._restore(opcode & 0x3F)
            elif opcode in (0x02, 0x03, 0x04):
                size = 1 << opcode - 2
                self._rows.append((location, _rule(self._state)))
                location += int.from_bytes(data[at : at + size], "little") * self._code
                at += size
            elif opcode:
                at = self._define(data, opcode, at)
        return location

    def _save(self, register: int, offset: int, by: int = BY_FRAME_ADDRESS) -> None:
        if register == _RBP:
            self._state = self._state._replace(saved=offset, saved_by=by)
        elif register == _RETURN and (offset != -8 or not by):
            # It is nowhere: there is no caller.
            self._state = self._state._replace(is_outermost=True)

    def _restore(self, register: int) -> None:
        if register == _RBP:
            self._state = self._state._replace(saved=self._initial.saved, saved_by=self._initial.saved_by)

    def _define(self, data: Part, opcode: int, at: int) -> int:
        state = self._state
        if opcode == 0x0A:
            self._kept.append(state)
        elif opcode == 0x0B:
            self._state = self._kept.pop()
        elif opcode == 0x0C:
            register, at = uleb128(data, at)
            offset, at = uleb128(data, at)
            self._state = _counted(state._replace(register=register, offset=offset))
        elif opcode == 0x0D:
            register, at = uleb128(data, at)
            self._state = _counted(state._replace(register=register))
        elif opcode == 0x0E:
            offset, at = uleb128(data, at)
            self._state = state._replace(offset=offset)
        elif opcode == 0x0F:
            size, at = uleb128(data, at)
            self._state = _by_expression(state, data[at : at + size])
            at += size
        else:
            at = self._other(data, opcode, at)
        return at

    def _other(self, data: Part, opcode: int, at: int) -> int:
        register = 0
        if opcode != 0x2E:
            register, at = uleb128(data, at)
        if opcode == 0x05:
            offset, at = uleb128(data, at)
            self._save(register, offset * self._data_factor)
        elif opcode == 0x11:
            offset, at = sleb128(data, at)
            self._save(register, offset * self._data_factor)
        elif opcode == 0x06:
            self._restore(register)
        elif opcode in (0x07, 0x08):
            self._save(register, 0, 0)
        elif opcode in (0x09, 0x14, 0x15):
            _, at = uleb128(data, at)
            self._save(register, 0, 0)
        elif opcode in (0x10, 0x16):
            size, at = uleb128(data, at)
            self._save(register, *_by_rbp(data[at : at + size], opcode))
            at += size
        elif opcode == 0x2E:
            _, at = uleb128(data, at)
        else:
            raise DebugInfoError(f"instruction {opcode:#x} of frame descriptions is not known")
        return at


def _counted(state: _State) -> _State:
    return state._replace(kind={_RSP: FROM_STACK, _RBP: FROM_FRAME}.get(state.register, END))


def _by_expression(state: _State, expression: bytes) -> _State:
    """What compilers and linkers write: a word at rbp and an offset, and the rule of the procedure linkage table."""
    if len(expression) > 2 and expression[0] == 0x70 + _RBP and expression[-1] == _DEREFERENCE:
        offset, at = sleb128(expression, 1)
        if at == len(expression) - 1:
            return state._replace(offset=offset, kind=AT_FRAME)
    is_linkage = expression[:2] == bytes((0x70 + _RSP, 8)) and bytes((0x70 + _RETURN, 0)) in expression
    return state._replace(offset=8, kind=LINKAGE if is_linkage else END)


def _by_rbp(expression: bytes, opcode: int) -> tuple[int, int]:
    """The place of a register in a function that aligns its stack, which counts from rbp."""
    if opcode == 0x10 and expression[:1] == bytes((0x70 + _RBP,)):
        offset, at = sleb128(expression, 1)
        if at == len(expression):
            return offset, BY_RBP
    return 0, 0
