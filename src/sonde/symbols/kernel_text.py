"""Places of the kernel's code that it lets no kprobe be at, as far as its file tells.

The kernel itself decides when a probe is attached (kernel/kprobes.c: check_kprobe_address_safe), and says no more than
EINVAL; its file has the lists that it decides by, between symbols of its linker script
(include/asm-generic/vmlinux.lds.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property

from sonde.arch import instructions
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.functions import CodeFunction
from sonde.typed import NamedTuple


class _Bounds(NamedTuple):
    """Between which symbols of vmlinux something is, and in which section of a module."""

    first: str
    last: str
    section: str


_REGIONS = (
    (_Bounds("__kprobes_text_start", "__kprobes_text_end", ".kprobes.text"), "kprobes itself runs it"),
    (
        _Bounds("__noinstr_text_start", "__noinstr_text_end", ".noinstr.text"),
        "it is marked noinstr: tracing does not work where it runs",
    ),
    (
        _Bounds("__entry_text_start", "__entry_text_end", ".entry.text"),
        "the kernel is entered there, before tracing works",
    ),
    (_Bounds("_sinittext", "_einittext", ".init.text"), "it is code that runs once, at the beginning, and is gone"),
)
_LISTED = _Bounds("__start_kprobe_blacklist", "__stop_kprobe_blacklist", "_kprobe_blacklist")
_JUMPS = _Bounds("__start___jump_table", "__stop___jump_table", "__jump_table")
_CALLS = _Bounds("__start_static_call_sites", "__stop_static_call_sites", ".static_call_sites")
_OWN_NAMES = ("__cfi_", "__pfx_")
_ADDRESS, _DISPLACEMENT = struct.Struct("<Q"), struct.Struct("<i")
_JUMP_ENTRY, _CALL_ENTRY = 16, 8
"""struct jump_entry and struct static_call_site, whose first members are the distance of the code from themselves."""
_LARGEST = 4 << 20


class KernelText:
    """What the file of the kernel, or of a module, tells of its code."""

    def __init__(self, file: ElfFile) -> None:
        self._file = file

    def obstacle(self, function: CodeFunction, offset: int, length: int) -> str:
        """Why no kprobe can be at the instruction of `length` bytes at an offset of a function, "" if one may be."""
        address = function.address + offset
        for start, end, why in self._regions:
            if start <= address < end:
                return why
        if function.address in self._listed:
            return "it is on the kernel's list of functions that may not be probed (NOKPROBE_SYMBOL)"
        if function.name.startswith(_OWN_NAMES):
            return "it is no code of the source, but room that the compiler has left before a function"
        if self._file.bytes_at(address, len(instructions.TRAP)) == instructions.TRAP:
            return "it is the instruction of a BUG() or WARN()"
        if any(each in self._patched for each in range(address, address + max(length, 1))):
            return "the kernel changes this instruction while it runs (a static key or a static call)"
        return ""

    @cached_property
    def _bounds(self) -> dict[str, int]:
        """The addresses of the symbols that bound lists and regions."""
        every = (*(bounds for bounds, _ in _REGIONS), _LISTED, _JUMPS, _CALLS)
        return self._file.table.addresses([name for bounds in every for name in (bounds.first, bounds.last)])

    @cached_property
    def _regions(self) -> tuple[tuple[int, int, str], ...]:
        found = ((*self._between(bounds), why) for bounds, why in _REGIONS)
        return tuple(each for each in found if each[0])

    @cached_property
    def _listed(self) -> frozenset[int]:
        start, end = self._between(_LISTED)
        data = self._bytes(start, end)
        return frozenset(at for (at,) in _ADDRESS.iter_unpack(data[: len(data) // 8 * 8]))

    @cached_property
    def _patched(self) -> frozenset[int]:
        """Where instructions begin that are changed."""
        return frozenset((*self._relative(_JUMPS, _JUMP_ENTRY), *self._relative(_CALLS, _CALL_ENTRY)))

    def _relative(self, bounds: _Bounds, size: int) -> Iterator[int]:
        start, end = self._between(bounds)
        data = self._bytes(start, end)
        for at in range(0, len(data) // size * size, size):
            yield start + at + _DISPLACEMENT.unpack_from(data, at)[0]

    def _bytes(self, start: int, end: int) -> bytes:
        return self._file.bytes_at(start, min(end - start, _LARGEST)) if start < end else b""

    def _between(self, bounds: _Bounds) -> tuple[int, int]:
        """The addresses where it begins and ends, (0, 0) where it is not there."""
        start, end = self._bounds.get(bounds.first), self._bounds.get(bounds.last)
        if start is not None and end is not None:
            return start, end
        found = next((each for each in self._file.sections if each.name == bounds.section and each.address), None)
        return (found.address, found.address + found.size) if found else (0, 0)
