"""Stacks as sequences of frames, with the names that were to be had when the record came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from sonde.typed import NamedTuple
from sonde.visible import visible


class Frame(NamedTuple):
    """A place in code. `function` and `module` (an object's path, or the kernel's module) are "" where they are not
    known; a function without a symbol is called by its module and its start in that, `gzip+0x4f20`. `offset` is into
    the function, else into the module. `file` and `line` are those of the source, "" and 0
    without debug information. A function of Python's has neither address nor module. As text it is one line, in which
    nothing steers a terminal."""

    address: int
    function: str = ""
    module: str = ""
    offset: int = 0
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return visible(self._text())

    def _text(self) -> str:
        if not self.module and self.function:
            return f"{self.function} {self.file.rpartition('/')[2]}:{self.line}" if self.file else self.function
        if not self.module:
            return f"0x{self.address:x}"
        module = self.module.rpartition("/")[2]
        if not self.function:
            return f"{module}`0x{self.address:x}"
        # What has no symbol has its module in its name.
        whole = self.function if self.function.startswith(f"{module}+0x") else f"{module}`{self.function}"
        return whole + (f"+0x{self.offset:x}" if self.offset else "")


class Stack(Sequence[Frame]):
    """A stack, the innermost frame first. Stacks are equal where their addresses are, of the same process."""

    __slots__ = ("_frames", "pid")

    def __init__(self, frames: Sequence[Frame], pid: int | None = None) -> None:
        self._frames = tuple(frames)
        self.pid = pid
        """The process, None in the kernel."""

    @overload
    def __getitem__(self, place: int) -> Frame: ...
    @overload
    def __getitem__(self, place: slice) -> Stack: ...
    def __getitem__(self, place: int | slice) -> Frame | Stack:
        if isinstance(place, slice):
            return Stack(self._frames[place], self.pid)
        return self._frames[place]

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._frames)

    def _identity(self) -> tuple[object, ...]:
        return self.pid, tuple(each.address or each for each in self._frames)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stack) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        return "\n".join(map(str, self._frames))

    def __repr__(self) -> str:
        return f"Stack({', '.join(map(str, self._frames))})"
