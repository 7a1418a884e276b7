"""What a profile is in all formats: stacks of frames, and a number for each stack."""

from __future__ import annotations

from sonde.typed import NamedTuple

KEY, USER, KERNEL, INLINED, PYTHON = "key", "user", "kernel", "inlined", "python"
"""What a frame stands for: a further key of the aggregation, or a function by where its code is, or one of Python's,
whose `module` is the file of its source."""


class ProfileFrame(NamedTuple):
    """A function, or a key that groups stacks. `module` is the object or kernel module it is in, "" if not known."""

    name: str
    module: str = ""
    kind: str = USER


class Profile(NamedTuple):
    """Stacks and what each has come to.

    The stacks are tuples of indexes into `frames`, the outermost frame first. `value` says what the numbers are
    (`count`), `unit` in what (`count`, `nanoseconds`, "" where nobody knows). `time` is when it began, in ns since
    1970, and `duration` how long it took, in ns; 0 where that is not known. `notes` say what it has not.
    """

    title: str
    value: str
    unit: str
    frames: tuple[ProfileFrame, ...]
    stacks: dict[tuple[int, ...], int]
    time: int = 0
    duration: int = 0
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.stacks.values())


class ProfileError(Exception):
    """The bytes are no profile of this format, or a damaged one: says what is wrong."""


class _Numbers(dict[ProfileFrame, int]):
    """Gives the next number to what it has not met: a look-up is no call of Python code otherwise."""

    def __missing__(self, frame: ProfileFrame) -> int:
        number = self[frame] = len(self)
        return number


class ProfileFrames:
    """Gives each different frame a number, in the order of their coming."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self.number = self._numbers.__getitem__

    def frames(self) -> tuple[ProfileFrame, ...]:
        return tuple(self._numbers)
