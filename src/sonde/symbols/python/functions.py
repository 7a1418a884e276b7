"""The functions of Python that stacks have by number: taken from programs' maps as they come, and kept by name."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable

from sonde.model.python_frames import (
    CODE,
    FRAME,
    NOT_KNOWN,
    PLACE_BITS,
    PYTHON_CODES,
    PYTHON_STATE,
    UNKNOWN_PLACE,
    PythonFrame,
    is_python,
    parts_of,
    remark,
)
from sonde.symbols.python.line_tables import Rows, line_at, rows
from sonde.symbols.python.memory_objects import bytes_of, text_of
from sonde.typed import NamedTuple

_NUMBER = (1 << 32) - 1
_MOST_STACKS = 1 << 16


class PythonFunction(NamedTuple):
    """`name` is module and qualified name (before 3.11 the name alone), `line` the first one."""

    name: str
    file: str
    line: int
    rows: Rows

    def frame(self, place: int) -> PythonFrame:
        """At an instruction; where its line is not known, the function's first."""
        found = line_at(self.rows, place) if place != UNKNOWN_PLACE else 0
        return PythonFrame(self.name, self.file, found or self.line)


class PythonFunctions:
    """`keep` is told of each function that comes, with its number."""

    def __init__(
        self,
        read: Callable[[str], list[tuple[bytes, bytes]]],
        remove: Callable[[str, bytes], None],
        keep: Callable[[int, PythonFunction], None],
        proc: str = "/proc",
    ) -> None:
        self._read, self._remove, self._keep, self._proc = read, remove, keep, proc
        self._functions: dict[int, PythonFunction] = {}
        self._numbers: dict[tuple[str, str, int], int] = {}
        """The first number of a function, as programs may give it several."""
        self._same: dict[int, int] = {}
        self._frames: dict[int, PythonFrame] = {}
        self._words: dict[int, int] = {}
        self._stacks: dict[bytes, bytes] = {}
        self._seen = 0

    @property
    def lost(self) -> int:
        """How often there was no room for a function."""
        return self._state()[1]

    def _state(self) -> tuple[int, int]:
        ((_, value),) = self._read(PYTHON_STATE)
        count, lost = struct.unpack("<QQ", value)
        return count, lost

    def poll(self) -> None:
        """Take what programs have met since the last time."""
        count, _ = self._state()
        if count == self._seen:
            return
        self._seen = count
        for key, value in self._read(PYTHON_CODES):
            self._take(int.from_bytes(key[:4], "little"), value)
            self._remove(PYTHON_CODES, key)

    def _take(self, number: int, value: bytes) -> None:
        image, _, file_at, name_at, module_at, lines_at, line, version, *copied = CODE.unpack(value)

        def read(address: int, size: int) -> bytes:
            return _memory(self._proc, image & _NUMBER, address, size)

        file = text_of(file_at, copied[0], version, read)
        name = text_of(name_at, copied[1], version, read)
        module = text_of(module_at, copied[2], version, read)
        table = bytes_of(lines_at, copied[3], read)
        called = ".".join(each for each in (module, name or "[unknown]") if each)
        self.learn(number, PythonFunction(called, file or "", line, rows(table, line, version)))

    def learn(self, number: int, function: PythonFunction) -> None:
        """A function's number, from a program or a file."""
        self._functions[number] = function
        self._same[number] = self._numbers.setdefault(function[:3], number)
        self._keep(number, function)

    def frame(self, word: int) -> PythonFrame:
        """What a word of a stack stands for, NOT_KNOWN if that is not known."""
        found = self._frames.get(word)
        if found is None:
            number, place = parts_of(word)
            if number and number not in self._functions:
                self.poll()
            if number and number not in self._functions:
                return NOT_KNOWN
            found = self._functions[number].frame(place) if number else remark(place)
            self._frames[word] = found
        return found

    def canonical(self, stack: bytes) -> bytes:
        """A stack (`consume/stacks.py`) in which instructions of one line are one, as are numbers of one function."""
        found = self._stacks.get(stack)
        if found is None:
            found = self._made(stack)
            if len(self._stacks) >= _MOST_STACKS:
                self._stacks.clear()
            self._stacks[stack] = found
        return found

    def _made(self, stack: bytes) -> bytes:
        words = array("Q", stack)
        words.byteswap()
        changed = [self._word(each) if is_python(each) else each for each in words[1:]]
        return struct.pack(f">{len(words)}Q", words[0], *changed)

    def _word(self, word: int) -> int:
        found = self._words.get(word)
        if found is None:
            number, place = parts_of(word)
            if number and number not in self._functions:
                self.poll()
            function = self._functions.get(number)
            if function is None:
                return word
            line = function.frame(place).line
            first = next((at for at, each in function.rows if each == line), UNKNOWN_PLACE)
            found = self._words[word] = FRAME | self._same[number] << PLACE_BITS | first
        return found


def _memory(proc: str, pid: int, address: int, size: int) -> bytes:
    try:
        with open(f"{proc}/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size) or b""
    except (OSError, ValueError, OverflowError):
        # What a program has copied is all there is.
        return b""
