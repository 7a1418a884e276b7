"""The tables of an object as rules: where code at a file offset has its caller."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator

from sonde.symbols.dwarf.frame_rules import NONE, Rule
from sonde.symbols.dwarf.unwind_rows import BLOCK, UnwindRows, packed_rule
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.go_objects import is_go
from sonde.symbols.unwinding.kept_rows import kept_rows, made_rows

_LOWER = (1 << BLOCK) - 1


class ObjectRules:
    """Those of one object; `size` is how many bytes they take."""

    def __init__(self, rows: UnwindRows, keeps: bool = False) -> None:
        """`keeps`: code without a rule keeps frame pointers, which lead from one stack to another."""
        self.keeps = keeps
        self.size = sum(map(len, rows))
        self._blocks, self._rows = memoryview(rows.blocks).cast("I"), memoryview(rows.rows).cast("I")
        self._packed = rows.rules
        self._known: dict[int, Rule] = {}

    def rule(self, offset: int) -> Rule | None:
        """The rule for code at a file offset, None where nothing is described."""
        block = offset >> BLOCK
        if block + 1 >= len(self._blocks):
            return None
        first, end = self._blocks[block], self._blocks[block + 1]
        at = bisect_right(self._rows, offset & _LOWER, first, end, key=_LOWER.__and__) - 1
        number = self._rows[max(at, first)] >> BLOCK
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = packed_rule(self._packed, number)
        return found if found.kind != NONE else None


def object_rules(file: ElfFile) -> ObjectRules:
    """Raises ElfError, also where they take too much to be made."""
    with file.costs:
        kept = kept_rows(file)
        return ObjectRules(_all_of(made_rows(kept, file.costs)) if kept.rows is None else kept.rows, is_go(file))


def _all_of(making: Generator[None, None, UnwindRows]) -> UnwindRows:
    while True:
        try:
            next(making)
        except StopIteration as end:
            found: UnwindRows = end.value
            return found
