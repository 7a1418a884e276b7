"""The pieces of the function that interprets Python's code, beside the one that has its name."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.symbols.elf.file import ElfFile
from sonde.symbols.elf.symbol_table import ElfSymbol


def interpreting(file: ElfFile, function: ElfSymbol) -> Iterator[tuple[int, int]]:
    """Where the file has what the compiler has put elsewhere as it is seldom executed. Raises ElfError."""
    for name in (f"{function.name}.cold", f"{function.name}.cold.0"):
        for symbol in file.find(name):
            begin = file.offset_of(symbol.address)
            if begin is not None:
                yield begin, begin + symbol.size
