"""What is said of losses."""

from __future__ import annotations

from sonde.consume.events import Drop

_LOST = {
    "records": "Lost {lost} events",
    "variables": "Map full; can't update element: {lost} elements of maps found no room (max_map_keys)",
    "aggregations": "Map full; can't update element: {lost} updates of aggregations found no room (max_map_keys)",
    "cut": "{lost} stacks are shorter than they were: walked before the tables of an object of theirs were there",
    "python": "{lost} functions of Python in stacks have no name: too many new ones came at once",
    "turns": "{lost} turns of loops are missing: a firing took longer than the programs of a file may",
    "commands": "{lost} commands of system() were not run: tracing had ended, and they waited yet",
    "tables": "{lost} tables were not printed: tracing had ended, and they would show again what was shown",
    "nested": "Lost {lost} firings, which interrupted others of the same processor",
}


def drop_text(drop: Drop) -> str:
    text = _LOST.get(drop.counter)
    return f"WARNING: {text.format(lost=drop.lost)}" if text else f"WARNING: Lost {drop.lost} {drop.counter}"
