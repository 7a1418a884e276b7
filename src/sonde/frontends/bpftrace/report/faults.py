"""Mistakes of running programs, with their place in the text."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from sonde.bpf.helpers import name_of
from sonde.consume.events import Fault
from sonde.frontends.bpftrace.errors import SourceSpan, placed
from sonde.model.records import FAULTS
from sonde.model.spec import ProgramSpec
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.program_text import BtSource

_GOES_ON = {
    1: "memory at 0x{value:x} cannot be read. 0 is being used as the result.",
    4: "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.",
    11: "Array access out of bounds. This can lead to unexpected results. The first element is being used.",
}
"""By the fault's code: what the clause goes on behind."""

_KIND = "WARNING"
_LINE = struct.Struct("<IIII")
_COLUMN_BITS = 10
"""Of the last word of a struct bpf_line_info, below the line."""


def fault_text(fault: Fault, programs: Iterable[ProgramSpec], source: BtSource, tells: bool = False) -> str:
    """What went wrong, with the line and a mark below it where the place is known. `tells` of the helper that has
    failed, as bpftrace does."""
    message, span = told(fault, programs, source)
    if tells and (helper := failed_helper(fault, programs)):
        message = f"{os.strerror(EFAULT)}\nAdditional Info - helper: {helper}, retcode: {-EFAULT}"
    return f"{_KIND}: {message}" if span is None else placed(_KIND, message, span, source.text)


def told(fault: Fault, programs: Iterable[ProgramSpec], source: BtSource) -> tuple[str, SourceSpan | None]:
    """What went wrong, and where, if that is known."""
    text = _GOES_ON.get(fault.code)
    if text is None:
        text = FAULTS.get(fault.code, "fault {code}") + ": the rest of the probe's program was not run"
    message = text.format(value=fault.value & (1 << 64) - 1, code=fault.code)
    place = _place(fault, programs)
    if place is None or not 0 < place[0] <= len(source.text.lines):
        return message, None
    line, column = place
    return message, SourceSpan(line, column, *source.spans.get(place, (line, column + 1)))


def failed_helper(fault: Fault, programs: Iterable[ProgramSpec]) -> str:
    """The helper that could not read memory, "" for another fault: the last that the code calls before the fault."""
    if fault.code != BAD_ADDRESS:
        return ""
    for program in programs:
        if fault.pc < 0 or not any(each.probe == fault.probe for each in program.probes):
            continue
        for at in range(min(fault.pc, len(program.code) // INSTRUCTION - 1), -1, -1):
            operation, registers, _, number = _INSTRUCTION.unpack_from(program.code, at * INSTRUCTION)
            name = name_of(number).removeprefix("bpf_")
            if operation == CALL and not registers >> 4 and name.startswith(_READING):
                return name
        return ""
    return ""


CALL = 0x85
"""BPF_JMP | BPF_CALL; without a source register it is of a helper (include/uapi/linux/bpf.h)."""
INSTRUCTION = 8
BAD_ADDRESS, EFAULT = 1, 14
_INSTRUCTION = struct.Struct("<BBhi")
_READING = ("probe_read_", "copy_from_user")


def _place(fault: Fault, programs: Iterable[ProgramSpec]) -> tuple[int, int] | None:
    """Line and column of the instruction, as the program says where its instructions come from."""
    for program in programs:
        if fault.pc < 0 or not any(each.probe == fault.probe for each in program.probes):
            continue
        found = None
        for instruction, _, _, place in _LINE.iter_unpack(program.line_info):
            if instruction > fault.pc:
                break
            found = place
        return None if found is None else (found >> _COLUMN_BITS, found & (1 << _COLUMN_BITS) - 1)
    return None
