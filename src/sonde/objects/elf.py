"""A relocatable ELF object of BPF code: sections by number, symbols and relocations (elf(5)).

R_BPF_* are of LLVM's BPF backend and of binutils (Documentation/bpf/llvm_reloc.rst); both spell REL sections.
"""

from __future__ import annotations

import struct

from sonde.objects.errors import ObjectError
from sonde.symbols.elf.file import ElfError, ElfFile, Section
from sonde.typed import NamedTuple

EM_BPF = 247
_ET_REL = 1
SHT_NOBITS, SHT_REL = 8, 9
_SHT_SYMTAB, _SHT_RELA = 2, 4
SHF_EXECINSTR = 4

STT_OBJECT, STT_FUNC, STT_SECTION = 1, 2, 3
STB_LOCAL = 0
SHN_UNDEF = 0
_HIDDEN = (1, 2)
"""STV_INTERNAL and STV_HIDDEN, of the lowest two bits of st_other."""

R_BPF_64_64 = 1
"""A 64-bit immediate: an address of data, or of a function."""
R_BPF_64_32 = 10
"""The immediate of a call."""

_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_LARGEST, _MOST_CODE = 64 << 20, 8 << 20
"""Bytes of an object, and of memory that it asks for; bytes of its code, a million instructions."""


class Symbol(NamedTuple):
    """A symbol: `section` is the number of the one it is in (SHN_UNDEF: of none), `value` its offset there.

    `is_hidden`: it is not seen outside of the object (STV_HIDDEN, STV_INTERNAL).
    """

    name: str
    value: int
    size: int
    section: int
    kind: int
    binding: int
    is_hidden: bool = False


class Relocation(NamedTuple):
    """R_BPF_* `kind` at `offset` of the section it is for."""

    offset: int
    kind: int
    symbol: Symbol


class ObjectFile:
    """An object; raises ObjectError for what is no BPF object or not whole."""

    def __init__(self, data: bytes) -> None:
        if len(data) > _LARGEST:
            raise ObjectError(f"it is larger than {_LARGEST >> 20} MiB")
        try:
            self.elf = ElfFile(data)
            self.sections: tuple[Section, ...] = self.elf.sections
        except ElfError as error:
            hint = "big-endian objects cannot run here: compile with -mlittle-endian or -target bpfel"
            raise ObjectError(str(error), hint if data[5:6] == b"\2" else "") from None
        if self.elf.kind != _ET_REL or self.elf.machine != EM_BPF or not self.elf.is_64_bit:
            raise ObjectError(
                "it is no BPF object", "compile a C file with `bpf-gcc -O2 -c` or `clang -target bpf -O2 -c`"
            )
        zeros = sum(each.size for each in self.sections if each.kind == SHT_NOBITS)
        code = sum(each.size for each in self.sections if each.flags & SHF_EXECINSTR)
        if zeros > _LARGEST or code > _MOST_CODE:
            raise ObjectError(f"it asks for {zeros} bytes of zeros and has {code} bytes of code, which is too much")
        self.symbols = self._symbols()

    def contents(self, number: int) -> bytes:
        """The bytes of a section, zeros for one that the file has not."""
        section = self.sections[number]
        if section.kind == SHT_NOBITS:
            return bytes(section.size)
        found = self.elf.contents(section)
        if len(found) < section.size:
            raise ObjectError(f"section {section.name} is cut off")
        return found

    def number(self, name: str) -> int | None:
        """The number of the first section of that name."""
        return next((index for index, each in enumerate(self.sections) if each.name == name and each.kind), None)

    def named(self, name: str) -> bytes | None:
        """The bytes of the section of that name, None if there is none."""
        number = self.number(name)
        return None if number is None else self.contents(number)

    def relocations(self, number: int) -> tuple[Relocation, ...]:
        """Those of a section, by offset."""
        found: list[Relocation] = []
        for index, each in enumerate(self.sections):
            if each.info != number or each.kind not in (SHT_REL, _SHT_RELA):
                continue
            if each.kind == _SHT_RELA:
                raise ObjectError(f"section {each.name} has relocations with addends, which BPF objects have not")
            data = self.contents(index)
            for offset, info in _RELOCATION.iter_unpack(data[: len(data) // 16 * 16]):
                if info >> 32 >= len(self.symbols):
                    raise ObjectError(
                        f"a relocation of section {each.name} names symbol {info >> 32}, which is not there"
                    )
                found.append(Relocation(offset, info & 0xFFFFFFFF, self.symbols[info >> 32]))
        return tuple(sorted(found, key=lambda each: each.offset))

    def _symbols(self) -> tuple[Symbol, ...]:
        table = next((index for index, each in enumerate(self.sections) if each.kind == _SHT_SYMTAB), None)
        if table is None:
            raise ObjectError("it has no symbol table", "do not strip it of symbols that relocations need")
        link = self.sections[table].link
        if link >= len(self.sections):
            raise ObjectError("its symbol table has no strings")
        data, strings = self.contents(table), self.contents(link)
        return tuple(
            Symbol(
                self._name(strings, name, kind & 15, section), value, size, section, kind & 15, kind >> 4,
                other & 3 in _HIDDEN,
            )
            for name, kind, other, section, value, size in _SYMBOL.iter_unpack(data[: len(data) // 24 * 24])
        )  # fmt: skip

    def _name(self, strings: bytes, offset: int, kind: int, section: int) -> str:
        if kind == STT_SECTION and section < len(self.sections):
            return self.sections[section].name
        return strings[offset : strings.find(b"\0", offset)].decode(errors="replace") if offset < len(strings) else ""


def is_gnu(file: ObjectFile) -> bool:
    """Whether the object was made by gcc."""
    return b"GCC:" in (file.named(".comment") or b"")
