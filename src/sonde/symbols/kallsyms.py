"""The kernel's symbols, /proc/kallsyms: names for addresses and addresses for names.

The list has more than a hundred thousand lines. Its lines begin with the address in hexadecimal digits of a fixed
number, so that they can be sorted and searched as bytes without being taken apart.
"""

from __future__ import annotations

from bisect import bisect_right

from sonde.typed import NamedTuple

_FARTHEST = 1 << 20
"""The list has no sizes: an address further behind a symbol than this is taken to be in none."""

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
        self._sorted: list[bytes] | None = None

    def symbolize(self, address: int) -> tuple[str, str, int] | None:
        """The module and name of the symbol at or before an address, and the distance from its start in bytes."""
        if not _KERNEL <= address < 1 << 64:
            return None
        lines = self._lines()
        at = bisect_right(lines, b"%016x\xff" % address) - 1
        if at < 0:
            return None
        start = lines[at][:17]
        while at and lines[at - 1].startswith(start):
            at -= 1
        found = _parse(lines[at])
        offset = address - found.address
        return (found.module, found.name, offset) if offset < _FARTHEST else None

    def find(self, name: str, module: str | None = None) -> KernelName | None:
        """The symbol of a name; without a module the kernel's own, if it has it, before any module's."""
        wanted = "vmlinux" if module == "kernel" else module
        found = [symbol for symbol in self._named(name) if wanted in (None, symbol.module)]
        return min(found, key=lambda symbol: symbol.module != "vmlinux", default=None)

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

    def _lines(self) -> list[bytes]:
        if self._sorted is None:
            self._sorted = sorted(self._read().splitlines())
        return self._sorted

    def _read(self) -> bytes:
        if self._text is None:
            try:
                with open(self._path, "rb") as file:
                    self._text = file.read()
            except OSError:
                self._text = b""
        return self._text


def _parse(line: bytes) -> KernelName:
    """A line `address type name`, with a tab and `[module]` for what is not the kernel's own."""
    address, kind, rest = line.decode().split(" ", 2)
    name, _, module = rest.partition("\t")
    return KernelName(module.strip("[] ") or "vmlinux", name.strip(), int(address, 16), kind)
