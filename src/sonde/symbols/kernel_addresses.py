"""Link-time addresses of the kernel and its modules as distances from symbols, which the running kernel has too."""

from __future__ import annotations

from itertools import chain

from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.elf.symbol_table import STT_FUNC, STT_NOTYPE, STT_OBJECT
from sonde.symbols.functions import CodeObject
from sonde.symbols.kernel_files import VMLINUX

_FIRST = "_stext"
"""All of the kernel's code and data but what is per CPU is moved by as much as this symbol."""

_IS_PER_CPU = "it is a per-CPU variable, of which each CPU has a copy elsewhere"
_PER_CPU_SECTION = ".data..percpu"
_PER_CPU = "__per_cpu_start", "__per_cpu_end"
"""Between these is what each CPU has a copy of (include/asm-generic/vmlinux.lds.h)."""


def by_symbol(home: CodeObject, address: int) -> tuple[str, int]:
    """A symbol, written module`symbol, and how far behind it an address is. Raises UnsupportedError where it is not one
    place in memory."""
    file = home.loaded.file
    if home.name == VMLINUX:
        known = file.table.addresses((_FIRST, *_PER_CPU))
        if known.get(_PER_CPU[0], 0) <= address < known.get(_PER_CPU[1], 0):
            raise UnsupportedError(_IS_PER_CPU)
        if _FIRST not in known:
            raise UnsupportedError(f"{home.path} has no symbol {_FIRST} that tells where the kernel is")
        return f"{VMLINUX}`{_FIRST}", address - known[_FIRST]
    return _of_module(home, address)


def _of_module(home: CodeObject, address: int) -> tuple[str, int]:
    """A module's sections are anywhere, so the symbol has to be of the same one; that of a name that others of the
    module have would not do."""
    section = next((e for e in home.loaded.file.sections if e.address <= address < e.address + max(e.size, 1)), None)
    if section is None or not section.address:
        raise UnsupportedError(f"it is in no section of {home.name}")
    if section.name == _PER_CPU_SECTION:
        raise UnsupportedError(_IS_PER_CPU)
    table = home.loaded.file.table
    kinds = (STT_OBJECT, STT_FUNC, STT_NOTYPE)
    for at in chain(table.before(address, kinds), table.behind(address, kinds)):
        if section.address <= at < section.address + section.size:
            for symbol in reversed(table.at(at)):
                if len(table.named(symbol.name)) == 1:
                    return f"{home.name}`{symbol.name}", address - at
    raise UnsupportedError(f"section {section.name} of {home.name} has no symbol that tells where it is")
