"""Line number programs (DWARF 5, section 6.2): which address belongs to which line of which file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import join, normpath

from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import Sizes, sleb128, uleb128
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

_PATH, _DIRECTORY = 1, 2
_MOST_ROWS = 1 << 20
_PIECE = 1 << 12
"""Bytes of a program that are run before it is asked what that has taken."""
_STRINGS = {forms.STRP: ".debug_str", forms.LINE_STRP: ".debug_line_str"}


class LineRow(NamedTuple):
    """A row of the table; `file` is an index of LineTable.files."""

    address: int
    file: int
    line: int
    is_statement: bool
    ends: bool
    has_discriminator: bool
    ends_prologue: bool


def tables_naming(sections: Mapping[str, Part], name: bytes, shared: Mapping[str, Part]) -> list[int]:
    """Where the line tables are that may have a file whose path ends in `name`: its bytes, or the offset of such a
    string, are in the header. Raises DebugInfoError."""
    data = sections.get(".debug_line", b"")
    strings = (sections.get(".debug_line_str", b""), sections.get(".debug_str", b""), shared.get(".debug_str", b""))
    places = [place.to_bytes(4, "little") for each in strings for place in _ends(each, name + b"\0")]
    found, at = [], 0
    while at + 16 <= len(data):
        width, length, start = 4, int.from_bytes(data[at : at + 4], "little"), at + 4
        if length == 0xFFFFFFFF:
            width, length, start = 8, int.from_bytes(data[at + 4 : at + 12], "little"), at + 12
        version = int.from_bytes(data[start : start + 2], "little")
        size = start + 2 + (2 if version >= 5 else 0)
        end = size + width + int.from_bytes(data[size : size + width], "little")
        if data.find(name + b"\0", at, end) >= 0 or any(data.find(each, at, end) >= 0 for each in places):
            found.append(at)
        at = start + length
    return found


def _ends(data: Part, pattern: bytes) -> Iterator[int]:
    """Where the strings begin that end in a pattern, which has a NUL at its end."""
    where = data.find(pattern)
    while where >= 0:
        yield data.rfind(b"\0", 0, where) + 1
        yield where
        where = data.find(pattern, where + 1)


class LineTable:
    """The header is read at once, the rows when they are asked for. Raises DebugInfoError, also for the rows."""

    def __init__(
        self, sections: Mapping[str, Part], at: int, directory: str, shared: Mapping[str, Part], costs: Costs
    ) -> None:
        """`directory` is the unit's compilation directory, `shared` the sections of dwz's file."""
        self._data = sections.get(".debug_line", b"")
        self._sections = sections
        self._shared = shared
        self._directory = directory
        self._costs = costs
        try:
            self._header(at)
        except (IndexError, ValueError):
            raise DebugInfoError("section .debug_line is cut off") from None

    def _header(self, at: int) -> None:
        width, length, at = 4, self._number(at, 4), at + 4
        if length == 0xFFFFFFFF:
            width, length, at = 8, self._number(at, 8), at + 8
        self._end = at + length
        version, at = self._number(at, 2), at + 2
        if self._end > len(self._data) or not 2 <= version <= 5:
            raise DebugInfoError(f"a line table of DWARF version {version} makes no sense")
        at += 2 if version == 5 else 0
        self._sizes = Sizes(8, width, version)
        self._start = at + width + self._number(at, width)
        at += width
        self._unit = self._data[at]
        at += 2 if version >= 4 else 1
        self._is_statement = bool(self._data[at])
        base = self._data[at + 1]
        self._line_base = base - (base >> 7 << 8)
        self._line_range, self._opcode_base = self._data[at + 2], self._data[at + 3]
        if not self._line_range or not self._opcode_base:
            raise DebugInfoError("a line table makes no sense")
        self._operands = self._data[at + 4 : at + 3 + self._opcode_base]
        at += 3 + self._opcode_base
        self.files = self._files(at) if version == 5 else self._old_files(at)

    def _files(self, at: int) -> tuple[str, ...]:
        directories, at = self._entries(at)
        files, _ = self._entries(at)
        places = [_join(self._directory, name) for name, _ in directories]
        return tuple(_join(places[number] if number < len(places) else "", name) for name, number in files)

    def _entries(self, at: int) -> tuple[list[tuple[str, int]], int]:
        """Names with the numbers of their directories."""
        count, at = self._data[at], at + 1
        formats = []
        for _ in range(count):
            content, at = uleb128(self._data, at)
            form, at = uleb128(self._data, at)
            formats.append((content, form))
        total, at = uleb128(self._data, at)
        if total > len(self._data):
            raise DebugInfoError("a line table makes no sense")
        found = []
        for _ in range(total):
            self._costs.check()
            name, directory = "", 0
            for content, form in formats:
                if content == _PATH:
                    name = self._string(form, at)
                elif content == _DIRECTORY:
                    directory = forms.number(form, self._data, at, self._sizes)
                at = forms.skip(form, self._data, at, self._sizes)
            found.append((name, directory))
        return found, at

    def _old_files(self, at: int) -> tuple[str, ...]:
        """Files count from 1 before DWARF 5."""
        directories = [self._directory]
        while self._data[at]:
            name, at = self._text(at)
            directories.append(_join(self._directory, name))
        at += 1
        found = [""]
        while self._data[at]:
            name, at = self._text(at)
            number, at = uleb128(self._data, at)
            at = uleb128(self._data, uleb128(self._data, at)[1])[1]
            found.append(_join(directories[number] if number < len(directories) else "", name))
        return tuple(found)

    def rows(self) -> list[LineRow]:
        """All rows, in the order of the program: sequences of ascending addresses."""
        try:
            return self._run()
        except (IndexError, ValueError):
            raise DebugInfoError("section .debug_line is cut off") from None

    def _run(self) -> list[LineRow]:
        data, at = self._data, self._start
        found: list[LineRow] = []
        address, file, line, is_statement, discriminator, prologue = 0, 1, 1, self._is_statement, 0, False
        new, append, base, span, unit = tuple.__new__, found.append, self._line_base, self._line_range, self._unit
        first, end = self._opcode_base, self._end
        advance = (255 - first) // span * unit
        look = at + _PIECE
        while at < end:
            if at >= look:
                look = at + _PIECE
                self._costs.check()
                if len(found) > _MOST_ROWS:
                    raise DebugInfoError("a line table has more rows than can be kept")
            opcode, at = data[at], at + 1
            if opcode >= first:
                opcode -= first
                address += opcode // span * unit
                line += base + opcode % span
                append(new(LineRow, (address, file, line, is_statement, False, discriminator != 0, prologue)))
                discriminator, prologue = 0, False
            elif opcode == 0:
                size, at = uleb128(data, at)
                kind, following = data[at] if size else 0, at + size
                if kind == 1:
                    append(new(LineRow, (address, file, line, False, True, False, False)))
                    address, file, line, is_statement, discriminator, prologue = 0, 1, 1, self._is_statement, 0, False
                elif kind == 2:
                    address = self._number(at + 1, min(size - 1, 8))
                elif kind == 4:
                    discriminator = uleb128(data, at + 1)[0]
                at = following
            elif opcode == 1:
                append(new(LineRow, (address, file, line, is_statement, False, discriminator != 0, prologue)))
                discriminator, prologue = 0, False
            elif opcode == 2:
                operand, at = uleb128(data, at)
                address += operand * unit
            elif opcode == 3:
                operand, at = sleb128(data, at)
                line += operand
            elif opcode == 4:
                file, at = uleb128(data, at)
            elif opcode == 6:
                is_statement = not is_statement
            elif opcode == 8:
                address += advance
            elif opcode == 9:
                address, at = address + self._number(at, 2), at + 2
            elif opcode == 10:
                prologue = True
            else:
                for _ in range(self._operands[opcode - 1]):
                    at = uleb128(data, at)[1]
        return found

    def _string(self, form: int, at: int) -> str:
        if form == forms.STRING:
            return self._text(at)[0]
        value = forms.number(form, self._data, at, self._sizes)
        section = self._sections.get(_STRINGS.get(form, ""), b"")
        if form in (forms.STRP_SUP, forms.GNU_STRP_ALT):
            section = self._shared.get(".debug_str", b"")
        end = section.find(b"\0", value)
        return section[value:end].decode(errors="replace") if end >= 0 else ""

    def _text(self, at: int) -> tuple[str, int]:
        end = self._data.index(0, at)
        return self._data[at:end].decode(errors="replace"), end + 1

    def _number(self, at: int, size: int) -> int:
        if at + size > len(self._data):
            raise IndexError
        return int.from_bytes(self._data[at : at + size], "little")


def _join(directory: str, name: str) -> str:
    """A path as a debugger shows it: "." and ".." in the middle are taken out."""
    return normpath(join(directory, name)) if name else ""
