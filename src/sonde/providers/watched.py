"""Events of the perf source `breakpoint`: ADDRESS-LENGTH-ACCESS, a place in memory that the processor watches.

The address is a number of C, the length in bytes, and the access `w`, `rw` or `x`, as far as the processor can watch.
"""

from __future__ import annotations

import re

from sonde.arch import breakpoints

_FORM = re.compile(r"(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})-([0-9]{1,2})-([rwx]+)")
_MOST = (1 << 64) - 1


def encode(name: str) -> tuple[int, int, int] | None:
    """What is watched for, the address and the length, as `PerfEvent` has them; None for what cannot be watched."""
    form = _FORM.fullmatch(name)
    if form is None or absence(name):
        return None
    access = breakpoints.ACCESSES[form[3]]
    return access, int(form[1], 0 if form[1].startswith("0x") else 10), int(form[2])


def absence(name: str) -> str:
    """Why a name is no place that can be watched, "" if it is one."""
    form = _FORM.fullmatch(name)
    if form is None:
        return "a breakpoint is ADDRESS-LENGTH-ACCESS, then how often: perf:breakpoint::0x404028-8-w-1"
    address, length = int(form[1], 0 if form[1].startswith("0x") else 10), int(form[2])
    if form[3] not in breakpoints.ACCESSES:
        return f"this processor watches for {', '.join(breakpoints.ACCESSES)} of memory, not for {form[3]}"
    if form[3] == "x" and length != breakpoints.INSTRUCTION_LENGTH:
        return f"where instructions are watched the length is {breakpoints.INSTRUCTION_LENGTH}"
    if length not in breakpoints.LENGTHS:
        return f"the length is one of {', '.join(map(str, breakpoints.LENGTHS))}"
    if not 0 < address <= _MOST:
        return "the address is a number of 64 bits, and not 0"
    if form[3] != "x" and address % length:
        return f"{length} bytes are watched at a multiple of {length}"
    return ""
