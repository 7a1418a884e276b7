"""The functions of the programs and libraries that a process has mapped, and where their instructions are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from sonde import others
from sonde.arch import instruction_lengths
from sonde.symbols import own_returns
from sonde.symbols.dwarf import entry_rows
from sonde.symbols.dwarf import information as dwarf_information
from sonde.symbols.elf import own_stacks
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import Loaded
from sonde.symbols.elf.symbol_table import STT_FUNC, STT_GNU_IFUNC, ElfSymbol, SymbolTable
from sonde.symbols.elf.unwound import UNWOUND, unwound
from sonde.symbols.return_obstacles import (
    COUNTED,
    KEPT,
    LOOKED_AT,
    OF_GO,
    PASSED,
    READ,
    SWITCHED,
    UNDESCRIBED,
    ReturnObstacle,
    not_called,
)  # fmt: skip
from sonde.symbols.source_names import functions as source_names_functions
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.dwarf.information import DebugInformation

PROGRAM = "a.out"
"""What every process calls its own executable."""

_EXECUTABLE = 1
_FUNCTIONS = (STT_FUNC, STT_GNU_IFUNC)


_OWN_RETURN = re.compile(
    r"_*(sig)?setjmp|_*(libc_)?vfork|_*(get|swap)context|_start|_dl_start_user|_*start_context|_dl_runtime_\w+|_*restore_rt"
)
"""Functions that keep their return address for a second return, or do not find one on top of the stack: the kernel
puts another in its place to learn of a return, which would end up in a jmp_buf, or be in argc."""

_LOOKING = re.compile(
    r"_*(libc_)?dl(v?sym|m?open)(_mode|_nocheck)?|\w+\.get_pc_thunk\.\w+|_*backtrace|_+fentry__|_*mcount"
)
"""Functions that ask who has called them, and find the kernel's address: the dynamic linker searches from the caller's
object on, code of 32 bits learns its own place, and a stack has no frame above."""

_OF_GO = (".gopclntab", ".go.buildinfo", ".note.go.buildid")
"""Sections that Go's linker makes."""


class CodeFunction(NamedTuple):
    """`name` is the best of the names that the function has, `address` as linked, `offset` that in the file.

    `is_indirect`: the symbol is not of the function itself but of what chooses one.
    """

    name: str
    address: int
    size: int
    offset: int
    is_indirect: bool = False


class CodeObject:
    """A program or library: `name` is PROGRAM or the file's own, `path` opens exactly the file that is mapped."""

    def __init__(
        self,
        name: str,
        path: str,
        loaded: Loaded,
        symbols: tuple[ElfFile, ...],
        found: str = "",
        root: str = "",
        open_information: Callable[[], DebugInformation] | None = None,
        is_writable: bool = False,
    ) -> None:
        """`symbols` are the files that have its symbols, the best first; `found` is where the file lies, beginning with
        `root`, the directory that is / for the process: there its separate debug information is looked for, unless
        `open_information` does that. `is_writable`: the process may write to the code, or shares it with who may."""
        file = loaded.file
        self.loaded = loaded
        self.name = name
        self.path = path
        self.is_writable = is_writable
        self._found = found or path
        self._root = root
        self._open_information = open_information
        self._file = file
        self._symbols = symbols
        self._decoded: tuple[CodeFunction, dict[int, instruction_lengths.MachineInstruction]] | None = None

    @property
    def where(self) -> str:
        """Where the file lies, as its process calls it; its path where it is no longer there."""
        return self._found.removeprefix(self._root)

    @property
    def identity(self) -> tuple[int, int]:
        """The device and the inode number of the file that was read."""
        return self._file.identity

    def is_same_file(self, other: CodeObject) -> bool:
        """Whether both are one file, under whatever names."""
        try:
            return self is other or others.is_same(self.path, other.path)
        except OSError:
            return False

    @cached_property
    def information(self) -> DebugInformation:
        """Its debug information, from wherever that is. Raises OSError, ElfError or DebugInfoError."""
        if self._open_information is not None:
            return self._open_information()

        return dwarf_information.open_information(self._found, self._root)

    @cached_property
    def functions(self) -> tuple[CodeFunction, ...]:
        """All, each once, by address."""
        addresses = {address for _, address in self._named}
        found = (self._at(address) for address in sorted(addresses))
        return tuple(function for function in found if function is not None)

    def matching(self, test: Callable[[str], bool]) -> Iterator[CodeFunction]:
        """Those that have a name which passes a test, by address, under the best of these names."""
        for address in sorted({address for name, address in self._named if test(name)}):
            function = self._at(address)
            if function is not None:
                names = (_base(each) for table in self._tables for each in reversed(_functions(table, address)))
                yield function._replace(name=next(filter(test, names), function.name))

    def find(self, name: str) -> tuple[CodeFunction, ...]:
        """Those of a name, which may be an alias: more than one where files of the program have a static each."""
        addresses = dict.fromkeys(
            symbol.address
            for file in reversed(self._tables)
            for symbol in file.named(name)
            if symbol.kind in _FUNCTIONS
        )
        found = (self._at(address) for address in addresses)
        return tuple(function for function in found if function is not None)

    def named_in_source(self, name: str) -> tuple[CodeFunction, ...]:
        """Those that the source calls by a name of C++ or Rust, `scope::name` or the name alone, by address."""
        return self._of_symbols(
            source_names_functions.named(source_names_functions.candidates(self._symbols_once, name), name)
        )

    def matching_in_source(self, pattern: str, test: Callable[[str], bool]) -> tuple[CodeFunction, ...]:
        """Those whose names in the source, with all scopes, pass the test of a pattern, by address. One that has
        parentheses, or a character for each of them, is compared with parameters as well."""
        is_whole = "(" in pattern or ("?" in pattern and "*" not in pattern)
        return self._of_symbols(
            source_names_functions.matching(
                source_names_functions.candidates(self._symbols_once, pattern), test, is_whole
            )
        )

    def meanings(self, name: str) -> tuple[str, ...]:
        """What the source has of functions that are called as a name is, whatever their parameters are."""
        return tuple(source_names_functions.alike(self._symbols_once, name))

    @property
    def _symbols_once(self) -> Iterable[str]:
        return dict.fromkeys(name for name, _ in self._named)

    def _of_symbols(self, names: Iterable[str]) -> tuple[CodeFunction, ...]:
        chosen = frozenset(names)
        found = (self._at(address) for address in sorted({address for name, address in self._named if name in chosen}))
        return tuple(function for function in found if function is not None)

    @property
    def function_names(self) -> Iterable[str]:
        """All names of its functions."""
        return {name for name, _ in self._named}

    @property
    def is_stripped(self) -> bool:
        """Whether no file with its full symbol table was found."""
        return not any(each.has_symbol_table for each in self._symbols)

    def return_obstacle(self, function: CodeFunction, looks_at_calls: bool = False) -> ReturnObstacle | None:
        """Why it has no return probe, None if it can. `looks_at_calls`: whoever probes it leaves return addresses as
        they are, and looks at each call where no table tells. Raises CostError."""
        if self._is_go:
            return None if looks_at_calls else OF_GO
        names = [name.removeprefix("__GI_") for name in self.names(function)]
        if any(map(_OWN_RETURN.fullmatch, names)):
            return KEPT
        if not looks_at_calls and any(map(_LOOKING.fullmatch, names)):
            return LOOKED_AT
        if any(map(UNWOUND.match, names)):
            return PASSED

        found = self._entry_rows.at(function.address)
        if found == entry_rows.ELSEWHERE:
            return not_called(function.name)
        if looks_at_calls:
            return None
        if found == entry_rows.NOT_DESCRIBED:
            return UNDESCRIBED
        if self._own_stacks is not None:
            return self._own_stacks
        return LOOKED_AT if self._file.is_64_bit and self._looks_at_own_return(function) else None

    @cached_property
    def _own_stacks(self) -> ReturnObstacle | None:
        kinds = {own_stacks.SWITCHES: SWITCHED, own_stacks.READS: READ, own_stacks.COUNTS: COUNTED}
        return kinds.get(own_stacks.own_stacks(self._file))

    def _looks_at_own_return(self, function: CodeFunction) -> bool:
        code = self._file.bytes_at(function.address, function.size)
        return own_returns.looks_at_own(code, function.address, self._entry_rows, lambda: self._lengths(function))

    def _lengths(self, function: CodeFunction) -> dict[int, int]:
        return {at: each.length for at, each in self.instructions(function).items()}

    @cached_property
    def _entry_rows(self) -> entry_rows.EntryRows:
        return entry_rows.EntryRows(self._file, self._symbols)

    @property
    def is_go(self) -> bool:
        """Whether Go's linker has made it."""
        return self._is_go

    def is_unwound(self, function: CodeFunction) -> bool:
        """Whether exceptions begin in the function or are cleaned up in it, as far as its own calls tell."""
        return function.address in self._unwound

    @cached_property
    def _unwound(self) -> frozenset[int]:
        try:
            return unwound(self._file, (address for _, address in self._named), self._name_at)
        except ElfError:
            return frozenset()

    def _name_at(self, address: int) -> str:
        return next((_base(each) for table in self._tables for each in _functions(table, address)), "")

    @cached_property
    def _is_go(self) -> bool:
        return any(each.name in _OF_GO for each in self._file.sections)

    def resolved(self, function: CodeFunction, address: int) -> CodeFunction | None:
        """The function at an address that an indirect one stands for, under the name of that."""
        offset = self.code_offset(address)
        if offset is None:
            return None
        known = self._at(address)
        return CodeFunction(function.name, address, known.size if known else 0, offset)

    def names(self, function: CodeFunction) -> frozenset[str]:
        """All names of a function."""
        return frozenset(_base(each) for file in self._tables for each in _functions(file, function.address))

    def containing(self, address: int) -> CodeFunction | None:
        """The function that an address is in."""
        starts = (next((at for at in file.before(address, _FUNCTIONS) if self._at(at)), -1) for file in self._tables)
        found = self._at(max(starts, default=-1))
        return found if found is not None and address < found.address + found.size else None

    def without_symbol(self, address: int) -> CodeFunction:
        """The section that an address is in, taken as a function, where no symbol tells which it is in."""
        for section in self._file.sections:
            offset = self.code_offset(section.address)
            if section.address <= address < section.address + section.size and offset is not None:
                return CodeFunction(section.name, section.address, section.size, offset)
        return CodeFunction("", address, instruction_lengths.LONGEST, self.code_offset(address) or 0)

    def instructions(self, function: CodeFunction) -> dict[int, instruction_lengths.MachineInstruction]:
        """The instructions by their offsets in the function, as far as its bytes are instructions. Those of the
        function that was asked for last are kept: some have many probes, and take a while. Raises CostError."""
        if self._decoded is None or self._decoded[0] != function:
            code = self._file.bytes_at(function.address, function.size)
            self._decoded = function, instruction_lengths.starts(code, self._file.costs.check)
        return self._decoded[1]

    def first_instruction(self, function: CodeFunction) -> instruction_lengths.MachineInstruction | None:
        """That of the function's first byte, whatever its size is said to be; None if there is none."""
        return instruction_lengths.decode(self._file.bytes_at(function.address, instruction_lengths.LONGEST), 0)

    @property
    def symbol_files(self) -> tuple[ElfFile, ...]:
        """The files that have its symbols, the best first."""
        return self._symbols

    @cached_property
    def _tables(self) -> tuple[SymbolTable, ...]:
        """The best first; none of a file that is not whole."""
        return tuple(table for file in self._symbols if (table := _table(file)) is not None)

    @cached_property
    def _named(self) -> list[tuple[str, int]]:
        """The names of all functions, and their addresses."""
        return [each for table in self._tables for each in table.names(_FUNCTIONS)]

    def _at(self, address: int) -> CodeFunction | None:
        """The function that begins at an address, by the best name of the best file that has one."""
        offset = self.code_offset(address)
        if offset is None:
            return None
        for table in self._tables:
            symbols = _functions(table, address)
            if symbols:
                best = symbols[-1]
                return CodeFunction(_base(best), address, best.size, offset, best.kind == STT_GNU_IFUNC)
        return None

    def code_offset(self, address: int) -> int | None:
        """The file offset of an instruction's linked address, None if no code of the file is there."""
        for segment in self._file.segments:
            if segment.address <= address < segment.address + segment.file_size and segment.flags & _EXECUTABLE:
                return address - segment.address + segment.offset
        return None


def _table(file: ElfFile) -> SymbolTable | None:
    try:
        return file.table
    except CostError:
        raise
    except ElfError:
        return None


def _functions(table: SymbolTable, address: int) -> list[ElfSymbol]:
    return [each for each in table.at(address) if each.kind in _FUNCTIONS]


def _base(symbol: ElfSymbol) -> str:
    """Its name without a version."""
    return symbol.name.partition("@")[0]
