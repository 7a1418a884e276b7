"""Watchpoints: `watchpoint:ADDRESS:LENGTH:MODE`."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import breakpoints
from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model.catalog import Catalog
from sonde.model.probe import BREAKPOINT

_KIND = "watchpoint"
_MODES = "rwx"
"""Reads, writes and runs."""


def watched(point: nodes.AttachPoint, fields: Sequence[str], catalog: Catalog) -> list[AttachedProbes]:
    """The probe of a description. Raises BtError for what no watchpoint has or the processor cannot watch."""
    mistake = _mistake(fields)
    if mistake:
        raise BtError(mistake, point.at)
    address, length = (integer_of(each) or 0 for each in fields[:2])
    access = "".join(sorted(fields[2]))
    if access not in breakpoints.ACCESSES:
        text = f"supported modes: {','.join(breakpoints.ACCESSES)}"
        raise BtError(f"invalid watchpoint mode: {access}", point.at, text)
    if access == "x":
        length = breakpoints.INSTRUCTION_LENGTH
    described = ("perf", BREAKPOINT, "", f"{address:#x}-{length}-{access}-1")
    found = catalog.match(*described)
    if not found:
        raise BtError("this watchpoint cannot be set", point.at, catalog.mismatch(*described))
    return [AttachedProbes(point, ":".join((_KIND, *fields)), _KIND, tuple(found))]


def _mistake(fields: Sequence[str]) -> str:
    if len(fields) != 3:
        return f"{_KIND} probe type requires 3 arguments, found {len(fields)}"
    address, length = map(integer_of, fields[:2])
    if address is None:
        return f"Invalid function/address argument: invalid integer: {fields[0]}"
    if length is None:
        return f"Invalid length argument: invalid integer: {fields[1]}"
    if not address:
        return "watchpoint must be attached to a non-zero address"
    if length not in breakpoints.LENGTHS:
        return "watchpoint length must be one of (1,2,4,8)"
    if not fields[2] or set(fields[2]) - set(_MODES):
        return "watchpoint mode must be combination of (r,w,x)"
    if len(set(fields[2])) < len(fields[2]):
        return "watchpoint modes may not be duplicated"
    return ""
