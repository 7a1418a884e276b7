"""CPython in a file: which version, and what programs need to find its functions (`model/python_frames.RUNTIME`)."""

from __future__ import annotations

import re
import struct

from sonde.model.python_frames import FREE_THREADED, IS_UNKNOWN, OTHER_VERSION, RUNTIME
from sonde.symbols.elf.file import ElfFile
from sonde.symbols.python.interpreting import interpreting
from sonde.symbols.python.layouts import LAYOUTS, TOLD_SINCE, RuntimeLayout

_COOKIE = b"xdebugpy"
_LIBRARY = re.compile(rb"(?<=[\0/])python(3)\.(\d{1,2})(?=[\0/])")
"""What the folder of the standard library is called, where the interpreter looks for it."""

_MOST_CONSTANTS = 64 << 20
_PIECES = 4

_TOLD = {
    0x030D: (5, 8, 9, 21, 24, 23, 30, 29, 31, 33, 35, 39, 38, 43),
    0x030E: (5, 8, 9, 24, 27, 26, 33, 32, 34, 36, 40, 44, 43, 48),
}
"""By version, the u64 of _Py_DebugOffsets that have the members of _NAMES."""

_NAMES = (
    "interpreters", "following", "threads", "next", "thread", "frame", "code", "previous", "place", "mark", "file",
    "line", "lines", "start",
)  # fmt: skip

_LARGEST = 1 << 20
"""Bytes that no structure of the interpreter has."""


def runtime_of(file: ElfFile) -> bytes | None:
    """RUNTIME of the interpreter in a file, None if there is none. Raises ElfError."""
    runtime, function = file.find_exported("_PyRuntime"), file.find_exported("_PyEval_EvalFrameDefault")
    if runtime is None or function is None:
        return None
    begin = file.offset_of(function.address)
    if begin is None:
        return None
    layout = layout_of(file, runtime.address)
    ranges = [(begin, begin + function.size), *interpreting(file, function)][:_PIECES]
    ends = [end for each in ranges for end in each]
    ends += [0] * (2 * _PIECES - len(ends))
    return RUNTIME.pack(runtime.address - (function.address - begin), *ends, *layout, 0)


def layout_of(file: ElfFile, runtime: int) -> RuntimeLayout:
    """What is known of an interpreter whose _PyRuntime has that link-time address."""
    told = file.bytes_at(runtime, 8 * 64)
    if told.startswith(_COOKIE) and len(told) == 8 * 64:
        return _told(struct.unpack("<64Q", told))
    version = version_of(file)
    found = LAYOUTS.get(version)
    return found if found is not None and version < TOLD_SINCE else _unknown(version, OTHER_VERSION)


def _told(words: tuple[int, ...]) -> RuntimeLayout:
    """By what the interpreter says of itself; its members stand where those of the version do."""
    version = words[1] >> 16
    if words[2]:
        return _unknown(version, FREE_THREADED)
    places, known = _TOLD.get(version), LAYOUTS.get(version)
    if places is None or known is None:
        return _unknown(version, OTHER_VERSION)
    values = {name: words[place] for name, place in zip(_NAMES, places, strict=True)}
    names = words[places[-4] + 1], words[places[-4] + 2]
    is_usual = names == (values["file"] + 8, values["file"] + 16)
    if not is_usual or max(values.values()) >= _LARGEST:
        return _unknown(version, OTHER_VERSION)
    return known._replace(**values)


def version_of(file: ElfFile) -> int:
    """The high half of PY_VERSION_HEX, 0 if it is not known."""
    symbol = file.find_exported("Py_Version")
    if symbol is not None:
        return int.from_bytes(file.bytes_at(symbol.address, 4), "little") >> 16
    # Before 3.11 it stands in texts alone.
    texts = file.section(".rodata", _MOST_CONSTANTS) or b""
    found = {(int(each[1]) << 8) | int(each[2]) for each in _LIBRARY.finditer(texts)}
    return found.pop() if len(found) == 1 else 0


def _unknown(version: int, remark: int) -> RuntimeLayout:
    """That of an interpreter whose functions are not read."""
    return RuntimeLayout(IS_UNKNOWN, version, remark)
