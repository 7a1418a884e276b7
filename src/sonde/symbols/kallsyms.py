"""The kernel's symbols, /proc/kallsyms: names for addresses and addresses for names.

The list has more than a hundred thousand lines. Its lines begin with the address in hexadecimal digits of a fixed
number, so that they can be sorted and searched as bytes without being taken apart.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from operator import itemgetter

from sonde import untrusted
from sonde.typed import NamedTuple

_FARTHEST = 1 << 20
"""The list has no sizes: an address further behind a symbol than this is taken to be in none, unless the next symbol is
of the kernel's own, too."""

_PATIENCE = 1.0
"""Seconds after which the list is read again for an address that is in none: modules and BPF programs come and go."""

_LARGEST = 64 << 20
"""Bytes of the list; that of a kernel with all its modules has some 15 MiB."""

_OWN = "vmlinux"
_DIGITS = itemgetter(slice(16))

_KERNEL = 1 << 63
"""Addresses from here on are the kernel's; symbols below are offsets in per-CPU memory, or hidden."""


class KernelName(NamedTuple):
    """A symbol: its module (`vmlinux` for the kernel's own), name, address and type letter as nm(1) prints it."""

    module: str
    name: str
    address: int
    kind: str


class Kallsyms:
    """The symbols; the file is read at the first question, and nothing is found where it cannot be read or
    kernel.kptr_restrict hides the addresses."""

    def __init__(self, path: str = "/proc/kallsyms") -> None:
        self._path = path
        self._text: bytes | None = None
        self._sorted: tuple[list[bytes], list[bytes]] | None = None
        self._read_again = 0.0

    def symbolize(self, address: int) -> tuple[str, str, int] | None:
        """The module and name of the symbol at or before an address, and the distance from its start in bytes."""
        if not _KERNEL <= address < 1 << 64:
            return None
        found = self._find(address)
        if found is None and time.monotonic() >= self._read_again:
            self._text = self._sorted = None
            found = self._find(address)
        return found

    def _find(self, address: int) -> tuple[str, str, int] | None:
        starts, lines = self._lines()
        after = bisect_right(starts, b"%016x" % address)
        if not after:
            return None
        # Of several names for one address the kernel itself uses the first.
        found = _parse(lines[bisect_left(starts, starts[after - 1])])
        offset = address - found.address
        is_near = offset < _FARTHEST or (found.module == _OWN and after < len(lines) and b"\t[" not in lines[after])
        return (found.module, found.name, offset) if is_near and found.address >= _KERNEL else None

    def find(self, name: str, module: str | None = None) -> KernelName | None:
        """The symbol of a name; without a module the kernel's own, if it has it, before any module's."""
        return min(self.all(name, module), key=lambda symbol: symbol.module != "vmlinux", default=None)

    def all(self, name: str, module: str | None = None) -> list[KernelName]:
        """All symbols of a name, in a module if one is given: functions of different files may be called the same."""
        wanted = "vmlinux" if module == "kernel" else module
        return [symbol for symbol in self._named(name) if wanted in (None, symbol.module)]

    def of_module(self, module: str) -> list[KernelName]:
        """The symbols of a module, by address; those of BPF programs are of module `bpf`."""
        text, end = self._read(), b"\t[" + module.encode() + b"]\n"
        found: list[KernelName] = []
        at = text.find(end)
        while at >= 0:
            found.append(_parse(text[text.rfind(b"\n", 0, at) + 1 : at + len(end) - 1]))
            at = text.find(end, at + 1)
        return sorted(found, key=_address_of)

    def _named(self, name: str) -> list[KernelName]:
        text, key = self._read(), b" " + name.encode()
        found: list[KernelName] = []
        at = text.find(key)
        while at >= 0:
            end = at + len(key)
            if text[end : end + 1] in (b"\n", b"\t"):
                line = text[text.rfind(b"\n", 0, at) + 1 : text.find(b"\n", end)]
                symbol = _parse(line)
                if symbol.address:
                    found.append(symbol)
            at = text.find(key, end)
        return found

    def _lines(self) -> tuple[list[bytes], list[bytes]]:
        """The digits of the addresses, and the lines, by address; those of one address in the file's order."""
        if self._sorted is None:
            lines = sorted(untrusted.lines(self._read()), key=_DIGITS)
            self._sorted = list(map(_DIGITS, lines)), lines
        return self._sorted

    def _read(self) -> bytes:
        if self._text is None:
            self._read_again = time.monotonic() + _PATIENCE
            try:
                self._text = untrusted.read_kernel(self._path, _LARGEST)
            except OSError:
                self._text = b""
        return self._text


def _address_of(symbol: KernelName) -> int:
    return symbol.address


def _parse(line: bytes) -> KernelName:
    """A line `address type name`, with a tab and `[module]` for what is not the kernel's own."""
    address, kind, rest = line.decode().split(" ", 2)
    name, _, module = rest.partition("\t")
    return KernelName(module.strip("[] ") or "vmlinux", name.strip(), int(address, 16), kind)
