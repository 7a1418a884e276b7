"""Where the dynamic linker tells a library's code where the thread-local data of the library are: the words that it
writes for relocations (ELF Handling For Thread-Local Storage)."""

from __future__ import annotations

from sonde.arch import object_files
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.indirect import relocations
from sonde.typed import NamedTuple


class ThreadDataWord(NamedTuple):
    """The link-time address of a word: it has the module's number or, if `is_offset`, what is added to the thread
    pointer for the data at the offset `data`."""

    slot: int
    is_offset: bool
    data: int = 0


def thread_data(file: ElfFile) -> ThreadDataWord | None:
    """The first word that is certainly about the library's own data, as it names no symbol. Raises ElfError."""
    for slot, kind, symbol, addend in relocations(file):
        if not symbol and kind in (object_files.MODULE, object_files.THREAD_OFFSET):
            is_offset = kind == object_files.THREAD_OFFSET
            return ThreadDataWord(slot, is_offset, addend if is_offset else 0)
    return None
