"""Constants of the kernel's headers by name: the table that tools/make_header_constants.py makes of installed ones."""

from __future__ import annotations

from functools import cache

from sonde import resources


@cache
def header_constants() -> dict[str, int]:
    """All of them."""
    text = resources.text("frontends", "bpftrace", "check", "header_constants.txt")
    lines = (line for line in text.split("\n") if not line.startswith("#"))
    pairs = (word.split("=") for line in lines for word in line.split())
    return {name: int(value, 0) for name, value in pairs}
