"""The functions of Python that stacks have by number."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable

from sonde.model.python_frames import (
    FRAME,
    NOT_KNOWN,
    PLACE_BITS,
    UNKNOWN_PLACE,
    PythonFrame,
    is_python,
    parts_of,
    remark,
)
from sonde.model.python_functions import PythonFunction
from sonde.recent import Recent

_WORD = 8
_HIGHEST_BYTE = FRAME >> 56
_MOST_STACKS, _MOST_WORDS = 1 << 14, 1 << 16
"""Answers kept."""


def _nobody() -> None:
    """Nobody knows more."""


class PythonFunctions:
    """`ask` is called for a number that is not known: whoever knows it then calls `learn`."""

    def __init__(self) -> None:
        self.ask: Callable[[], None] = _nobody
        self._functions: dict[int, PythonFunction] = {}
        self._distinct: dict[PythonFunction, PythonFunction] = {}
        """Each process that runs a function gives it another number."""
        self._numbers: dict[tuple[str, str, int], int] = {}
        """The first number of a function, as programs may give it several."""
        self._same: dict[int, int] = {}
        self._frames: Recent[int, PythonFrame] = Recent(_MOST_WORDS)
        self._words: Recent[int, int] = Recent(_MOST_WORDS)
        self._stacks: Recent[bytes, bytes] = Recent(_MOST_STACKS)

    def learn(self, number: int, function: PythonFunction) -> None:
        """What a number stands for from here on."""
        self._functions[number] = self._distinct.setdefault(function, function)
        self._same[number] = self._numbers.setdefault(function[:3], number)

    def _function(self, number: int) -> PythonFunction | None:
        if number not in self._functions:
            self.ask()
        return self._functions.get(number)

    def frame(self, word: int) -> PythonFrame:
        """What a word of a stack stands for, NOT_KNOWN if that is not known."""
        found = self._frames.get(word)
        if found is None:
            number, place = parts_of(word)
            if not number:
                return self._frames.put(word, remark(place))
            function = self._function(number)
            if function is None:
                return NOT_KNOWN
            found = self._frames.put(word, function.frame(place))
        return found

    def canonical(self, stack: bytes) -> bytes:
        """A stack (`consume/stacks.py`) in which instructions of one line are one, as are numbers of one function."""
        if max(stack[_WORD::_WORD], default=0) < _HIGHEST_BYTE:
            return stack
        found = self._stacks.get(stack)
        if found is None:
            found = self._stacks.put(stack, self._made(stack))
        return found

    def with_names(self, canonical: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        """The same, of those stacks that are one by the names of their other frames."""
        return lambda stack: canonical(self.canonical(stack))

    def _made(self, stack: bytes) -> bytes:
        words = array("Q", stack)
        words.byteswap()
        changed = [self._word(each) if is_python(each) else each for each in words[1:]]
        return struct.pack(f">{len(words)}Q", words[0], *changed)

    def _word(self, word: int) -> int:
        found = self._words.get(word)
        if found is None:
            number, place = parts_of(word)
            function = self._function(number) if number else None
            if function is None:
                return word
            line = function.frame(place).line
            first = next((each.place for each in function.rows if each.line == line), UNKNOWN_PLACE)
            found = self._words.put(word, FRAME | self._same[number] << PLACE_BITS | first)
        return found
