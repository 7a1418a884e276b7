"""The form of descriptions of watchpoints: `watchpoint:ADDRESS:LENGTH:MODE`."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of

_LENGTHS = (1, 2, 4, 8)
_MODES = "rwx"
"""Reads, writes and runs."""


def require_form(point: nodes.AttachPoint, fields: Sequence[str]) -> None:
    """Raises BtError for fields that no watchpoint has."""
    mistake = _mistake(fields)
    if mistake:
        raise BtError(mistake, point.at)


def _mistake(fields: Sequence[str]) -> str:
    if len(fields) != 3:
        return f"watchpoint probe type requires 3 arguments, found {len(fields)}"
    address, length = map(integer_of, fields[:2])
    if address is None:
        return f"Invalid function/address argument: invalid integer: {fields[0]}"
    if length is None:
        return f"Invalid length argument: invalid integer: {fields[1]}"
    if not address:
        return "watchpoint must be attached to a non-zero address"
    if length not in _LENGTHS:
        return "watchpoint length must be one of (1,2,4,8)"
    if not fields[2] or set(fields[2]) - set(_MODES):
        return "watchpoint mode must be combination of (r,w,x)"
    if len(set(fields[2])) < len(fields[2]):
        return "watchpoint modes may not be duplicated"
    return ""
