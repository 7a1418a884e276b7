"""What callers give: checked where they give it, so that a mistake is told there and not by a thread of the run."""

from __future__ import annotations

import errno
import math
import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import index

from sonde.typed import Any, TypeAlias

Path: TypeAlias = str | os.PathLike[str]
Command: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

TEXT = -1
"""As an output: `Text` events."""

ARROW = -2
"""As an output: `TableBatch` events, of tables."""


def path_of(path: Path) -> str:
    """Raises TypeError."""
    return os.fsdecode(os.fspath(path))


def program_of(text: object) -> str:
    """A program in source. Raises TypeError."""
    if not isinstance(text, str):
        raise TypeError(f"a program is a text, not {text!r}; sonde.load reads one from a file")
    return text


def arguments_of(arguments: Iterable[object]) -> tuple[str, ...]:
    """The texts of macro arguments. Raises TypeError."""
    if isinstance(arguments, str | bytes):
        raise TypeError(f"arguments are a sequence of numbers and texts, not {arguments!r}")
    return tuple(map(_argument, arguments))


def _argument(value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return path_of(value)
    if hasattr(value, "__index__"):
        return str(index(value))
    raise TypeError(f"an argument of a program is a number or a text, not {value!r}")


def command_of(command: Command | None) -> str | None:
    """As -c takes it. Raises TypeError."""
    if command is None or isinstance(command, str):
        return command
    words = [command] if isinstance(command, os.PathLike) else command
    if isinstance(words, bytes) or not isinstance(words, Iterable):
        raise TypeError(f"a command is a text, a path or a sequence of words, not {command!r}")
    return shlex.join(map(_word, words))


def _word(word: object) -> str:
    if not isinstance(word, str | os.PathLike):
        raise TypeError(f"a word of a command is a text or a path, not {word!r}")
    return path_of(word)


def pids_of(pids: Iterable[int]) -> tuple[int, ...]:
    """Raises TypeError."""
    if not isinstance(pids, Iterable):
        raise TypeError(f"pids are a sequence of numbers, not {pids!r}")
    try:
        return tuple(map(index, pids))
    except TypeError:
        raise TypeError(f"pids are numbers, not {pids!r}") from None


def duration_of(duration: float | None) -> float | None:
    """Seconds. Raises TypeError and ValueError."""
    if duration is None:
        return None
    if isinstance(duration, str | bytes):
        raise TypeError(f"a duration is a number of seconds, not {duration!r}")
    seconds = float(duration)
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"a duration is 0 or more seconds, not {duration!r}")
    return seconds


class GivenOutput:
    """Where a run writes: TEXT, ARROW or a descriptor of its own. The caller's may be closed, as a file is of which
    nobody knows any more, and its number is another file's then."""

    def __init__(self, number: int) -> None:
        """A descriptor is duplicated. Raises OSError."""
        self._is_open = False
        self.descriptor = os.dup(number) if number >= 0 else number
        self._is_open = number >= 0

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self.descriptor)

    def __del__(self) -> None:
        """Of a run that never began. Who serves the file may be gone, which has close(2) fail."""
        with suppress(OSError):
            self.close()


def output_of(output: object) -> GivenOutput | None:
    """From a descriptor, a file, "text" or "arrow". What is waiting to be written to a file is written before. Raises
    TypeError; ValueError of a file or descriptor that is closed; OSError if a file takes no more."""
    if output is None:
        return None
    if isinstance(output, str) and output in ("text", "arrow"):
        return GivenOutput(TEXT if output == "text" else ARROW)
    number = descriptor_of(output, "a file with a descriptor, a descriptor, 'text' or 'arrow'")
    try:
        return GivenOutput(number)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        raise ValueError(f"descriptor {number} is closed") from None


def descriptor_of(output: Any, taken: str = "a file with a descriptor, or a descriptor") -> int:
    """That of a file, behind what is waiting to be written to it, or a number; `taken` is what may be given. Raises as
    output_of."""
    if isinstance(output, int) and not isinstance(output, bool) and output >= 0:
        return output
    try:
        number = int(output.fileno())
    except (AttributeError, OSError):
        raise TypeError(f"an output is {taken}, not {output!r}") from None
    if hasattr(output, "flush"):
        output.flush()
    return number
