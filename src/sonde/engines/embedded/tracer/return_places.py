"""Places that functions of traced threads return to: where a breakpoint may be put, and nowhere else.

The word at the stack pointer is a return address where a function has been called. Tables tell of nearly all that they
are (symbols/dwarf/entry_rows.py); of others, and where a table is wrong, it may be any value, and a byte that is
written where it points changes the process.
"""

from __future__ import annotations

from sonde.arch import address_space, instructions, unwinding
from sonde.engines.embedded.tracer.code_space import CodeSpace
from sonde.symbols.mappings import Mapping
from sonde.typed import NamedTuple

NO_CODE, UNCALLED, RETURNED_TO = range(3)
"""What is at an address: nothing that can be executed; code that no call stands directly before; where calls return."""


class ReturnPlace(NamedTuple):
    """What is at an address, and the mapping that it is in."""

    kind: int
    mapping: Mapping | None = None


def found(space: CodeSpace, tid: int, address: int) -> ReturnPlace:
    """What is at an address that a thread may return to. Raises OSError."""
    if not instructions.LONGEST_CALL <= address < address_space.own_address_space().user_end:
        return ReturnPlace(NO_CODE)
    mapping = space.mapping_at(tid, address) if _is_readable(space, address) else None
    if mapping is None or not mapping.executable:
        return ReturnPlace(NO_CODE)
    is_known = _is_behind_call(space, address) or _is_signal_return(space, address)
    return ReturnPlace(RETURNED_TO if is_known else UNCALLED, mapping)


def _is_readable(space: CodeSpace, address: int) -> bool:
    """Most words that are no addresses are not, and mappings take longer to look at."""
    return bool(_code(space, address, 1))


def _is_behind_call(space: CodeSpace, address: int) -> bool:
    longest = instructions.LONGEST_CALL
    return instructions.is_behind_call(_code(space, address - longest, longest))


def _is_signal_return(space: CodeSpace, address: int) -> bool:
    """What the kernel has signal handlers return to (SA_RESTORER of sigaction(2))."""
    wanted = unwinding.SIGNAL_RETURN
    return _code(space, address, len(wanted)) == wanted


def _code(space: CodeSpace, address: int, size: int) -> bytes:
    try:
        return space.code(address, size)
    except OSError:
        return b""
