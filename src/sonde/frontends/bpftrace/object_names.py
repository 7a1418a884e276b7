"""What structures are called that the language itself has values of."""

from __future__ import annotations

STACKS = tuple(f"{kind}{mode}" for kind in ("kstack", "ustack") for mode in ("", "_perf", "_raw"))
"""Stacks, and how they are shown."""

OBJECTS = ("buffer", "ksym", "usym", *STACKS)

GLUE_FRAMES = 2
"""Frames of a stack of the kernel besides those that are asked for: a tracepoint's own may stand before them."""
