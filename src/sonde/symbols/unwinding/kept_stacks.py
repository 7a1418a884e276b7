"""Stacks of which a file has registers and bytes alone: walked by the tables of the files that processes had mapped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sonde.symbols.current_images import CurrentImages
from sonde.symbols.objects import Objects
from sonde.symbols.process_events import ProcessEvent
from sonde.symbols.unwinding.code_rules import CodeRules
from sonde.symbols.unwinding.stack_walk import CodeRule, CopiedStack, walk


class KeptStacks:
    """`objects` opens the files; what processes map and execute is told in the order of the samples."""

    def __init__(self, objects: Objects) -> None:
        self._images = CurrentImages()
        self._rules = CodeRules(objects)

    def take(self, event: ProcessEvent) -> None:
        """What has happened next."""
        self._images.take(event)

    def unwound(
        self, pid: int, taken: bytes, start: int, stack: memoryview, room: int
    ) -> Callable[[], tuple[int, ...]]:
        """What walks the stack of a process from a struct pt_regs on, where the bytes from an address on are kept, for
        `room` of which there was room."""
        return partial(self._walk, pid, taken, CopiedStack(start, stack), room)

    def _walk(self, pid: int, taken: bytes, copied: CopiedStack, room: int) -> tuple[int, ...]:
        mapping, rule = self._images.mapping, self._rules.at

        def code(address: int) -> CodeRule:
            return rule(pid, mapping(pid, address), address)

        return walk(taken, copied.word, code, room if len(copied.data) >= room else 0)
