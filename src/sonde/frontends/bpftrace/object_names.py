"""What structures are called that the language itself has values of."""

from __future__ import annotations

STACKS = (
    "kstack", "kstack_perf", "kstack_raw", "ustack", "ustack_perf", "ustack_raw", "ustack_build_id",
)  # fmt: skip
"""Stacks, and how they are shown."""

OBJECTS = ("buffer", "inet", "ksym", "usym", *STACKS)

GLUE_FRAMES = 2
"""Frames of a stack of the kernel besides those that are asked for: a tracepoint's own may stand before them."""
