"""What is said besides: faults of running programs, and losses."""

from __future__ import annotations

from sonde.consume.events import Drop, Fault

_FAULTS = {
    1: "memory at 0x{value:x} cannot be read",
    4: "Divide or modulo by 0",
}
_LOST = {
    "records": "Lost {lost} events",
    "variables": "Map full; can't update element: {lost} elements of maps found no room (max_map_keys)",
    "aggregations": "Map full; can't update element: {lost} updates of aggregations found no room (max_map_keys)",
    "cut": "{lost} stacks are shorter than they were: walked before the tables of an object of theirs were there",
    "nested": "Lost {lost} firings, which interrupted others of the same processor",
}


def fault_text(fault: Fault) -> str:
    """Why a probe's program was ended."""
    from sonde.model.spec import FAULTS

    text = _FAULTS.get(fault.code) or FAULTS.get(fault.code, "fault {code}")
    told = text.format(value=fault.value & (1 << 64) - 1, code=fault.code)
    return f"WARNING: {told}: the rest of the probe's program was not run"


def drop_text(drop: Drop) -> str:
    text = _LOST.get(drop.counter)
    return f"WARNING: {text.format(lost=drop.lost)}" if text else f"WARNING: Lost {drop.lost} {drop.counter}"
