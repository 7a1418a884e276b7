"""The notes that static probes of programs leave in ELF files: section `.note.stapsdt`, as SystemTap's sys/sdt.h makes
them (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from sonde.arch import object_files, pages
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.static_note import Note

SECTION = ".note.stapsdt"
BASE_SECTION = ".stapsdt.base"

_OWNER = b"stapsdt\0"
_NT_STAPSDT = 3
_EXECUTABLE, _WRITABLE = 1, 2
_LARGEST = 16 << 20
"""Bytes of a section that are read: programs with thousands of probes have some hundred KiB."""

_NOTE_SIZE = 600
"""Bytes of memory that a note takes, about."""

_PAGE = pages.PAGE
_MOST_COUNTER = 1 << 32
"""perf_event_attr.config has 32 bits for it."""
_WORD = (1 << 64) - 1
_HEADER = struct.Struct("<III")
_ADDRESSES = struct.Struct("<QQQ")


class StapsdtError(Exception):
    """The notes are cut off or damaged."""


def notes_of(file: ElfFile) -> list[Note]:
    """The notes of a file for this processor, at the addresses that it has, though prelink(8) may have moved it
    since they were made; as many as are whole. Raises ElfError."""
    if file.machine != object_files.MACHINE or not file.is_64_bit:
        return []
    found: list[Note] = []
    base = next((section.address for section in file.sections if section.name == BASE_SECTION), 0)
    for section in file.sections:
        if section.name == SECTION:
            try:
                for note in notes(file.contents(section, _LARGEST)):
                    file.costs.take(_NOTE_SIZE + len(note.arguments))
                    file.costs.check()
                    found.append(_moved(note, base))
            except StapsdtError:
                continue
    return found


def _moved(note: Note, base: int) -> Note:
    if not base or not note.base or base == note.base:
        return note
    by = base - note.base
    semaphore = note.semaphore + by & _WORD if note.semaphore else 0
    return note._replace(location=note.location + by & _WORD, base=base, semaphore=semaphore)


def notes(data: bytes) -> Iterator[Note]:
    """The notes in the contents of the section of a 64-bit file. Raises StapsdtError behind those that are whole."""
    at = 0
    while at < len(data):
        try:
            owner_size, size, kind = _HEADER.unpack_from(data, at)
        except struct.error:
            raise StapsdtError("a note is cut off") from None
        owner = at + _HEADER.size
        start = owner + _aligned(owner_size)
        end = start + size
        if end > len(data):
            raise StapsdtError("a note is cut off")
        if kind == _NT_STAPSDT and data[owner : owner + owner_size] == _OWNER:
            yield _note(data[start:end])
        at = start + _aligned(size)


def _aligned(size: int) -> int:
    return size + 3 & ~3


def _note(data: bytes) -> Note:
    texts = data[_ADDRESSES.size :].split(b"\0")
    # Behind each of the three texts is a NUL.
    if len(data) < _ADDRESSES.size or len(texts) < 4:
        raise StapsdtError("a note is cut off")
    location, base, semaphore = _ADDRESSES.unpack_from(data)
    provider, name, arguments = (text.decode(errors="replace") for text in texts[:3])
    return Note(provider, name, location, base, semaphore, arguments)


def code_offset(file: ElfFile, address: int) -> int | None:
    """Where the file has the instruction at a linked address, None if there is none."""
    for segment in file.segments:
        if segment.flags & _EXECUTABLE and 0 <= address - segment.address < segment.file_size:
            return address - segment.address + segment.offset
    return None


def counter_offset(file: ElfFile, address: int) -> int | None:
    """Where the file would have the u16 at a linked address, None if the kernel cannot find it by that.

    It looks for the file's writable mapping (valid_ref_ctr_vma, kernel/events/uprobes.c), which ends with the page that
    has the segment's last byte: zeros in that page that no byte of the file stands for are counted in too.
    """
    for segment in file.segments:
        mapped = (segment.address + segment.file_size + _PAGE - 1 & -_PAGE) - segment.address
        end = min(mapped, segment.memory_size)
        if segment.flags & _WRITABLE and segment.file_size and 0 <= address - segment.address <= end - 2:
            found = address - segment.address + segment.offset
            return found if found < _MOST_COUNTER else None
    return None


def data_address(files: Iterable[ElfFile], name: str) -> int | None:
    """The linked address of a symbol, None if there is none of that name, or several; of `NAME@tpoff` how far a
    thread-local variable of a program is from the thread pointer."""
    symbol, _, of_thread = name.partition("@")
    if of_thread:
        return _thread_offset(files, symbol) if of_thread.lower() == "tpoff" else None
    for file in files:
        try:
            found = {symbol.address for symbol in file.find(name)}
        except ElfError:
            continue
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _thread_offset(files: Iterable[ElfFile], name: str) -> int | None:
    for file in files:
        try:
            found = file.thread_offset(name)
        except ElfError:
            continue
        if found is not None:
            return found
    return None
