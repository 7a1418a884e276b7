"""All symbols of a file."""

from sonde.symbols.elf.symbol_table import SymbolTable


def symbols(of):
    """The defined functions, objects and labels of an ElfFile or a SymbolTable, by address; of those at one address the
    best name last."""
    table = of if isinstance(of, SymbolTable) else of.table
    found = {address for _, address in table.names(range(16))}
    return tuple(symbol for address in sorted(found) for symbol in table.at(address))
