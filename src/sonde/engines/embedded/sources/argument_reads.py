"""What a recording of `--record-reads` keeps of a process's memory besides what programs read there: strings behind
arguments, and the top of the stack, from which stacks are completed where a function begins."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.arch import registers
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.fired import MemoryRead
from sonde.model.firing_record import TEXT, TEXT_ARGUMENTS
from sonde.model.probe import Firing, Syscall, Uprobe
from sonde.runtime.helpers.user_memory import user_string

_LOWEST = 1 << 16
"""There is nothing below in usual processes (vm.mmap_min_addr)."""

_TOP = 256
"""Bytes of a stack."""


def behind_arguments(firing: Firing, task: TracedTask, found: bytearray, user_end: int) -> Iterator[MemoryRead]:
    """Of a thread that stands where the probe fires, with these registers; processes have memory below `user_end`."""
    places: tuple[int, ...] = ()
    if isinstance(firing, Syscall) and not firing.is_return:
        places = registers.CALL_ARGUMENTS
    elif isinstance(firing, Uprobe):
        yield from _top(task, _register(found, registers.STACK_POINTER))
        places = registers.ARGUMENTS if firing.kind == "entry" else ()
    for place in places[:TEXT_ARGUMENTS]:
        address = _register(found, place)
        text = user_string(task, address, TEXT, user_end) if _LOWEST <= address < user_end else None
        if text is not None:
            yield MemoryRead(address, text[0][: text[1] - 1], True)


def _register(found: bytearray, place: int) -> int:
    return int.from_bytes(found[place : place + 8], "little")


def _top(task: TracedTask, address: int) -> Iterator[MemoryRead]:
    for size in (_TOP, 8):
        try:
            yield MemoryRead(address, task.read_memory(address, size))
        except OSError:
            continue
        return
