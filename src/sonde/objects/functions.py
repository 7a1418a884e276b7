"""The functions of an object, and what one of their instructions refers to."""

from __future__ import annotations

from bisect import bisect_right

from sonde.objects.elf import SHF_EXECINSTR, STB_LOCAL, STT_FUNC, ObjectFile
from sonde.objects.errors import ObjectError
from sonde.typed import NamedTuple

TEXT = ".text"
"""The section of functions that others call and nothing fires."""


class ObjectFunction(NamedTuple):
    """`size` bytes of code at `start` of section number `section`; `is_hidden`: only this object calls it."""

    name: str
    section: int
    start: int
    size: int
    is_local: bool
    is_hidden: bool = False


class Functions:
    """Finds functions by place. Raises ObjectError where their sizes make no sense."""

    def __init__(self, file: ObjectFile) -> None:
        self._file = file
        self._by_section: dict[int, list[ObjectFunction]] = {}
        for each in file.symbols:
            if each.kind == STT_FUNC and 0 < each.section < len(file.sections):
                section = file.sections[each.section]
                if each.value % 8 or each.size % 8 or not each.size or each.value + each.size > section.size:
                    raise ObjectError(f"function {each.name} does not lie in its section {section.name}")
                is_local = each.binding == STB_LOCAL
                found = ObjectFunction(each.name, each.section, each.value, each.size, is_local, each.is_hidden)
                self._by_section.setdefault(each.section, []).append(found)
        for found_there in self._by_section.values():
            found_there.sort(key=lambda each: (each.start, each.is_local))

    def entries(self) -> list[ObjectFunction]:
        """What programs begin with: every global function outside of .text."""
        return [
            each
            for number, found in sorted(self._by_section.items())
            if self._file.sections[number].name != TEXT and self._file.sections[number].flags & SHF_EXECINSTR
            for each in found
            if not each.is_local
        ]

    def hidden(self) -> list[ObjectFunction]:
        """The functions that are global to the compiler's BTF and seen in this object only."""
        return [each for found in self._by_section.values() for each in found if each.is_hidden]

    def starting_at(self, section: int, offset: int) -> ObjectFunction:
        """The function that begins there. Raises ObjectError."""
        found = self._by_section.get(section, [])
        at = bisect_right(found, offset, key=lambda each: each.start) - 1
        while at > 0 and found[at - 1].start == offset:
            at -= 1
        if at < 0 or found[at].start != offset:
            name = self._file.sections[section].name if section < len(self._file.sections) else str(section)
            raise ObjectError(f"something calls byte {offset} of section {name}, where no function begins")
        return found[at]
