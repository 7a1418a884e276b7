"""The functions of the programs and libraries that a process has mapped, and where their instructions are."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from functools import cached_property

from sonde.symbols.elf import STT_FUNC, STT_GNU_IFUNC, ElfError, ElfFile, ElfSymbol
from sonde.symbols.indirect import Loaded, Slots, bias_of, chosen
from sonde.symbols.instruction_lengths import LONGEST, Instruction, decode, starts
from sonde.symbols.process import Mapping, Objects, parse_maps
from sonde.typed import BinaryIO, NamedTuple

PROGRAM = "a.out"
"""What every process calls its own executable."""

_EXECUTABLE = 1


_OWN_RETURN = re.compile(
    r"_*(sig)?setjmp|_*(libc_)?vfork|_*(get|swap)context|_start|_dl_start_user|_*start_context|_dl_runtime_\w+|_*restore_rt"
)
"""Functions that keep their return address for a second return, or do not find one on top of the stack: the kernel
puts another in its place to learn of a return, which would end up in a jmp_buf, or be in argc."""


class Function(NamedTuple):
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

    def __init__(self, name: str, path: str, loaded: Loaded, symbols: tuple[ElfFile, ...]) -> None:
        """`symbols` are the files that have its symbols, the best first."""
        file = loaded.file
        self.loaded = loaded
        self.name = name
        self.path = path
        self._file = file
        self._symbols = symbols

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All, each once, by address."""
        return tuple(self._by_address.values())

    def find(self, name: str) -> tuple[Function, ...]:
        """Those of a name, which may be an alias: more than one where files of the program have a static each."""
        addresses = self._addresses.get(name, ())
        return tuple(self._by_address[address] for address in addresses)

    def can_tell_return(self, function: Function) -> bool:
        """Whether the kernel can be told of its returns without changing what the process does."""
        return function.address not in self._own_return

    @cached_property
    def _own_return(self) -> frozenset[int]:
        found = (at for name, at in self._addresses.items() if _OWN_RETURN.fullmatch(name.removeprefix("__GI_")))
        return frozenset(address for addresses in found for address in addresses)

    def resolved(self, function: Function, address: int) -> Function | None:
        """The function at an address that an indirect one stands for, under the name of that."""
        offset = self._code_offset(address)
        if offset is None:
            return None
        known = self._by_address.get(address)
        return Function(function.name, address, known.size if known else 0, offset)

    def names(self, function: Function) -> frozenset[str]:
        """All names of a function."""
        return frozenset(name for name, addresses in self._addresses.items() if function.address in addresses)

    def containing(self, address: int) -> Function | None:
        """The function that an address is in."""
        ordered = self._ordered
        at = bisect_right(ordered, address) - 1
        if at < 0:
            return None
        found = self._by_address[ordered[at]]
        return found if address < found.address + found.size else None

    def instructions(self, function: Function) -> list[tuple[int, Instruction]]:
        """Offset in the function and instruction of each, as far as its bytes are instructions."""
        return starts(self._file.bytes_at(function.address, function.size))

    def first_instruction(self, function: Function) -> Instruction | None:
        """That of the function's first byte, whatever its size is said to be; None if there is none."""
        return decode(self._file.bytes_at(function.address, LONGEST), 0)

    @cached_property
    def _ordered(self) -> list[int]:
        return list(self._by_address)

    @cached_property
    def _tables(self) -> tuple[dict[int, Function], dict[str, tuple[int, ...]]]:
        """Functions by address, and the addresses of each name."""
        found: dict[int, Function] = {}
        addresses: dict[str, tuple[int, ...]] = {}
        for file in reversed(self._symbols):
            # Of the symbols of one address the best comes last, as do the best file's.
            for symbol in _symbols(file):
                if symbol.kind not in (STT_FUNC, STT_GNU_IFUNC):
                    continue
                offset = self._code_offset(symbol.address)
                if offset is None:
                    continue
                name = symbol.name.partition("@")[0]
                found[symbol.address] = Function(
                    name, symbol.address, symbol.size, offset, symbol.kind == STT_GNU_IFUNC
                )
                known = addresses.get(name, ())
                if symbol.address not in known:
                    addresses[name] = (*known, symbol.address)
        return dict(sorted(found.items())), addresses

    @property
    def _by_address(self) -> dict[int, Function]:
        return self._tables[0]

    @property
    def _addresses(self) -> dict[str, tuple[int, ...]]:
        return self._tables[1]

    def _code_offset(self, address: int) -> int | None:
        for segment in self._file.segments:
            if segment.address <= address < segment.address + segment.file_size and segment.flags & _EXECUTABLE:
                return address - segment.address + segment.offset
        return None


class CodeObjects:
    """Those of all processes that are asked about."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._files = Objects(proc)
        self._known: dict[tuple[int, str, int, str], CodeObject | None] = {}

    def is_own_namespace(self) -> bool:
        """Whether processes have the numbers there that they have for us."""
        try:
            return os.readlink(f"{self._proc}/self") == str(os.getpid())
        except OSError:
            return False

    def of(self, pid: int) -> list[CodeObject]:
        """The objects that a process has mapped, by address. Raises OSError if it may not be looked at."""
        directory = f"{self._proc}/{pid}"
        with open(f"{directory}/maps", encoding="utf-8", errors="surrogateescape") as file:
            mappings = parse_maps(file.read())
        program = os.readlink(f"{directory}/exe")
        found = []
        for mapping in mappings:
            key = pid, mapping.device, mapping.inode, mapping.path
            if mapping.executable and mapping.path.startswith("/"):
                if key not in self._known:
                    self._known[key] = self._object(pid, mapping, mapping.path == program)
                each = self._known[key]
                if each is not None and each not in found:
                    found.append(each)
        return found

    def slots(self, pid: int) -> Slots:
        """Where a process keeps addresses of functions. Raises OSError or ElfError."""
        return Slots(each.loaded for each in self.of(pid))

    def behind(self, pid: int, each: CodeObject, function: Function, slots: Slots) -> Function | None:
        """What an indirect function has been resolved to in a process, None if nothing tells. Raises OSError."""
        with open(f"{self._proc}/{pid}/mem", "rb", buffering=0) as memory:
            names = each.names(function)
            address = chosen(each.loaded, function.address, names, slots, lambda at: _word(memory, at))
        return None if address is None else each.resolved(function, address)

    def _object(self, pid: int, mapping: Mapping, is_program: bool) -> CodeObject | None:
        file = self._files.file(pid, mapping)
        if file is None:
            return None
        try:
            loaded = Loaded(file, bias_of(file, mapping.start, mapping.offset))
        except ElfError:
            return None
        name = PROGRAM if is_program else os.path.basename(mapping.path.removesuffix(" (deleted)"))
        return CodeObject(name, self._path(pid, mapping, is_program), loaded, self._files.symbols(pid, mapping))

    def _path(self, pid: int, mapping: Mapping, is_program: bool) -> str:
        """Through the process, whose mount namespace and root directory may be other ones."""
        if is_program:
            return f"{self._proc}/{pid}/exe"
        mapped = f"{self._proc}/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
        return mapped if os.path.exists(mapped) else f"{self._proc}/{pid}/root{mapping.path}"


def _symbols(file: ElfFile) -> tuple[ElfSymbol, ...]:
    """None of a file that is not whole."""
    try:
        return file.symbols
    except ElfError:
        return ()


def _word(memory: BinaryIO, address: int) -> int | None:
    try:
        memory.seek(address)
        data = memory.read(8)
    except (OSError, ValueError, OverflowError):
        return None
    return int.from_bytes(data, "little") if len(data) == 8 else None
