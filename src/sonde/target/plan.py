"""What a session wants to hear of the threads it traces, as a value and as the bytes that tell the guardian."""

from __future__ import annotations

import struct

from sonde.target import stops
from sonde.typed import NamedTuple

ENTRY, RETURN, HOLD_ENTRY, HOLD_RETURN = 1, 2, 4, 8
"""What is wanted of a system call, bits; what is held has to be wanted too."""

NUMBERS = 1024
"""More than there are system call numbers."""

_LAYOUT = struct.Struct("=BBHH2x")


class Plan(NamedTuple):
    """`calls`: system call number -> ENTRY ... HOLD_RETURN; `events`: the kinds of stops.py wanted besides, of which
    `held` are held. START, EXEC and END are always told. `registers`: held stops come with the thread's registers.
    `seccomp`: for a command, stop at the wanted system calls only, by a filter.
    """

    calls: dict[int, int] = {}
    events: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    registers: bool = False
    seccomp: bool = True


def to_bytes(plan: Plan) -> bytes:
    calls = bytearray(NUMBERS)
    for number, wanted in plan.calls.items():
        calls[number] = wanted
    return _LAYOUT.pack(plan.registers, plan.seccomp, _bits(plan.events), _bits(plan.held)) + calls


def from_bytes(data: bytes) -> Plan:
    registers, seccomp, events, held = _LAYOUT.unpack_from(data)
    calls = {number: wanted for number, wanted in enumerate(data[_LAYOUT.size :]) if wanted}
    return Plan(calls, _set(events), _set(held), bool(registers), bool(seccomp))


def _bits(kinds: frozenset[int]) -> int:
    return sum(1 << kind for kind in kinds)


def _set(bits: int) -> frozenset[int]:
    return frozenset(kind for kind in range(stops.INTERRUPTED + 1) if bits >> kind & 1)
