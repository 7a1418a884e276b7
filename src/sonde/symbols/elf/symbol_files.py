"""The files that have the symbols of an object: itself, its separate debug file, or the table compressed in it."""

from __future__ import annotations

from sonde.symbols.elf.debug_files import find_debug_file
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfError, ElfFile

_PIECE = 1 << 20
_LARGEST = 64 << 20
"""Bytes of a table that was compressed: a small section may claim to be any size."""


def with_symbols(file: ElfFile, path: str, root: str = "") -> tuple[ElfFile, ...]:
    """Of a stripped object its debug file, or what its .gnu_debugdata section holds, and itself for its dynamic
    symbols: the best first.

    `path` is where it lies and begins with `root`, what is / for its process.
    """
    try:
        if file.has_symbol_table:
            return (file,)
        found, _ = find_debug_file(path, file, root)
        extra = found.elf if found and found.elf is not file else _compressed(file)
    except (OSError, ElfError):
        extra = None
    return (extra, file) if extra else (file,)


def _compressed(file: ElfFile) -> ElfFile | None:
    """The symbol table that some distributions leave in stripped files (GDB manual, MiniDebugInfo)."""
    data = file.section(".gnu_debugdata", _LARGEST)
    if data is None:
        return None
    try:
        import lzma  # Python can be built without it
    except ImportError:
        # Python can be built without it.
        return None
    try:
        unpacking = lzma.LZMADecompressor(memlimit=_LARGEST)
        found = bytearray(unpacking.decompress(data, _PIECE))
        while not unpacking.eof and not unpacking.needs_input and len(found) < _LARGEST:
            file.costs.check()
            found += unpacking.decompress(b"", _PIECE)
        file.costs.take(len(found))
        return ElfFile(bytes(found), file.costs)
    except CostError:
        raise
    except (lzma.LZMAError, EOFError, ElfError):
        return None
