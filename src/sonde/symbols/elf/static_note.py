"""A site of a static probe of a program, as the program's file tells it."""

from __future__ import annotations

from sonde.typed import NamedTuple


class Note(NamedTuple):
    """One site of a probe, as it was linked: the `location` of its instruction, where section .stapsdt.base was then,
    the u16 `semaphore` that counts who listens (0: none), and the operands of its `arguments`, separated by spaces."""

    provider: str
    name: str
    location: int
    base: int
    semaphore: int
    arguments: str
