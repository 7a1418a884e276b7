"""The functions of Python that programs have met: taken from their maps as they come."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import takewhile

from sonde import others
from sonde.model.python_frames import CODE, LINES_PARTS, PYTHON_CODES, PYTHON_LINES, PYTHON_STATE
from sonde.model.python_functions import PythonFunction
from sonde.symbols.python.line_tables import rows
from sonde.symbols.python.memory_objects import bytes_of, text_of

_MOST_FUNCTIONS, _MOST_ROWS = 1 << 16, 1 << 21
"""What a session knows of at most: functions beyond have no names, and lines beyond are their functions' first. Any
process may have new ones all the time."""

_PID = (1 << 32) - 1
"""The lower half of a process with the mark of what it executes."""


class MetFunctions:
    """`tell` is told of each function and its number."""

    def __init__(
        self, read: Callable[[str], list[tuple[bytes, bytes]]], remove: Callable[[str, bytes], None],
        tell: Callable[[int, PythonFunction], None],
    ) -> None:  # fmt: skip
        self._read, self._remove, self._tell = read, remove, tell
        self._seen = self._rows = 0
        self._told = self._untold = 0

    @property
    def lost(self) -> int:
        """How often there was no room for a function."""
        return self._state()[1] + self._untold

    def _state(self) -> tuple[int, int]:
        ((_, value),) = self._read(PYTHON_STATE)
        count, lost = struct.unpack("<QQ", value)
        return count, lost

    def poll(self) -> None:
        """Take what programs have met since the last time."""
        count, lost = self._state()
        if count - lost == self._seen:
            return
        taken = self._read(PYTHON_CODES)
        # Programs write parts before the function that they belong to.
        parts = {int.from_bytes(key[:4], "little"): value for key, value in self._read(PYTHON_LINES)} if taken else {}
        for key, value in taken:
            number = int.from_bytes(key[:4], "little")
            own = [number * LINES_PARTS + part for part in range(1, LINES_PARTS)]
            self._take(number, value, b"".join(takewhile(bool, (parts.get(each, b"") for each in own))))
            for each in parts.keys() & own:
                self._remove(PYTHON_LINES, each.to_bytes(4, "little"))
            self._remove(PYTHON_CODES, key)
        # One that has its number already may still be on its way into the map.
        self._seen += len(taken)

    def _take(self, number: int, value: bytes, more: bytes) -> None:
        """`more` is what has been copied of the table of lines behind its first part."""
        if self._told >= _MOST_FUNCTIONS:
            self._untold += 1
            return
        self._told += 1
        image, _, file_at, name_at, module_at, lines_at, line, version, *copied = CODE.unpack(value)

        def read(address: int, size: int) -> bytes:
            return _memory(image & _PID, address, size)

        file = text_of(file_at, copied[0], version, read)
        name = text_of(name_at, copied[1], version, read)
        module = text_of(module_at, copied[2], version, read)
        table, is_whole = bytes_of(lines_at, copied[3] + more, read) if self._rows < _MOST_ROWS else (b"", False)
        found = rows(table, line, version, is_whole)
        self._rows += len(found)
        called = ".".join(each for each in (module, name or "[unknown]") if each)
        self._tell(number, PythonFunction(called, file or "", line, found))


def _memory(pid: int, address: int, size: int) -> bytes:
    try:
        return others.memory(pid, address, size)
    except (OSError, ValueError, OverflowError):
        # What a program has copied is all there is.
        return b""
