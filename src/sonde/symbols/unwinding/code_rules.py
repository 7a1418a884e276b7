"""Rules for the addresses of processes, as far as the files of their code are here."""

from __future__ import annotations

from collections import OrderedDict

from sonde.recent import Recent
from sonde.symbols.elf.file import ElfError
from sonde.symbols.mappings import Mapping
from sonde.symbols.objects import Objects
from sonde.symbols.unwinding.object_rules import ObjectRules, object_rules
from sonde.symbols.unwinding.stack_walk import ABSENT, NOWHERE, WITHOUT_TABLE, CodeRule

_MOST_BYTES = 128 << 20
"""Of all objects' tables that are kept; of those that have not been asked for longest."""

_MOST_KNOWN = 1 << 16


class CodeRules:
    """Objects are opened by `objects`; their tables are made when the first address is asked for."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._of: OrderedDict[tuple[str, int, str, int], ObjectRules | None] = OrderedDict()
        """By device, inode, path and generation; None where the file cannot be read."""
        self._size = 0
        self._known: Recent[tuple[tuple[str, int, str, int], int], CodeRule] = Recent(_MOST_KNOWN)

    def at(self, pid: int, mapping: Mapping | None, address: int) -> CodeRule:
        """What is known of an address in a mapping of a process."""
        if mapping is None:
            return NOWHERE
        if not mapping.is_object:
            return WITHOUT_TABLE
        key = mapping.device, mapping.inode, mapping.path, mapping.generation
        offset = address - mapping.start + mapping.offset
        found = self._known.get((key, offset))
        if found is None:
            rules = self._rules(key, pid, mapping)
            found = self._known.put(
                (key, offset), ABSENT if rules is None else CodeRule(True, True, rules.rule(offset), rules.keeps)
            )
        return found

    def _rules(self, key: tuple[str, int, str, int], pid: int, mapping: Mapping) -> ObjectRules | None:
        if key in self._of:
            self._of.move_to_end(key)
            return self._of[key]
        try:
            file = self._objects.file(pid, mapping)
            found = object_rules(file) if file is not None else None
        except ElfError:
            found = None
        self._of[key] = found
        self._size += _size(found)
        while self._size > _MOST_BYTES and len(self._of) > 1:
            _, other = self._of.popitem(last=False)
            self._size -= _size(other)
        return found


def _size(rules: ObjectRules | None) -> int:
    return 400 + (rules.size if rules is not None else 0)
