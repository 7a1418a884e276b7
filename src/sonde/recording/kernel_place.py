"""Where the kernel was in memory while it was recorded: it is elsewhere each time that the machine starts (KASLR)."""

from __future__ import annotations

from collections.abc import Collection

from sonde.recording import filed_names, running
from sonde.recording.anonymity import ADDRESSES
from sonde.symbols import kallsyms
from sonde.symbols.symbolizer import SymbolsOfKernel
from sonde.typed import NamedTuple
from sonde.untrusted import kernel_start, kernel_text, lines

_FIRST = "_stext"
"""The symbol that the kernel's image begins with."""
_BOOT = "/proc/sys/kernel/random/boot_id"
_SYMBOLS = "/proc/kallsyms"
_ENOUGH = 1 << 18
"""Bytes of the list in which that symbol is: before it are those of memory by CPU."""


class BootedKernel(NamedTuple):
    """Which start of the machine it was, "" where that is not told; a symbol, and its address, 0 where it is hidden."""

    boot: str
    symbol: str
    address: int


NOWHERE = BootedKernel("", "", 0)


def kernel_place(anonymous: Collection[str]) -> BootedKernel:
    """Of the kernel that runs. With pseudonyms nothing tells which machine it was, and where those are of addresses
    they have no names."""
    boot = "" if anonymous else boot_id()
    if ADDRESSES in anonymous:
        return BootedKernel(boot, "", 0)
    try:
        found = lines(kernel_start(_SYMBOLS, _ENOUGH))
    except OSError:
        return BootedKernel(boot, "", 0)
    address = next((int(line.split()[0], 16) for line in found if line.endswith(b" T " + _FIRST.encode())), 0)
    return BootedKernel(boot, _FIRST, address)


def boot_id() -> str:
    """What names this start of the machine, "" where the kernel does not tell."""
    try:
        return kernel_text(_BOOT).strip()
    except OSError:
        return ""


def names_of_kernel(place: BootedKernel, build_id: str) -> SymbolsOfKernel:
    """Names for addresses that were recorded, with the kernel's build id in hexadecimal: all where the machine has not
    been started again since; those of the kernel's own image where the same one runs, wherever it is now; else none."""
    if place.boot and place.boot == boot_id():
        return kallsyms.Kallsyms()
    try:
        known = filed_names.RecordedKernel(bytes.fromhex(build_id), has_modules=False)
    except ValueError:
        return filed_names.RecordedKernel(b"")
    if place.address and build_id:
        known.mapped(running.KERNEL + place.symbol, place.address)
    return known
