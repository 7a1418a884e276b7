"""Where the dynamic linker tells a library's code where the thread-local data of the library are: the words that it
writes for relocations (ELF Handling For Thread-Local Storage; x86-64 psABI, table 4.10)."""

from __future__ import annotations

from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.indirect import relocations
from sonde.typed import NamedTuple

_MODULE, _OFFSET = 16, 18
"""R_X86_64_DTPMOD64: the number of the module; R_X86_64_TPOFF64: how far data are from the thread pointer."""


class ThreadDataWord(NamedTuple):
    """The link-time address of a word: it has the module's number or, if `is_offset`, what is added to the thread
    pointer for the data at the offset `data`."""

    slot: int
    is_offset: bool
    data: int = 0


def thread_data(file: ElfFile) -> ThreadDataWord | None:
    """The first word that is certainly about the library's own data, as it names no symbol. Raises ElfError."""
    for slot, kind, symbol, addend in relocations(file):
        if not symbol and kind in (_MODULE, _OFFSET):
            return ThreadDataWord(slot, kind == _OFFSET, addend if kind == _OFFSET else 0)
    return None
