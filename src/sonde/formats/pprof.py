"""pprof's file format: a gzipped message of profile.proto (github.com/google/pprof/proto/profile.proto).

Each function is one Location without an address: a profile knows functions, not instructions. A module is a Mapping.
Functions of the kernel have a mapping in brackets, as pprof shows `[kernel.kallsyms]`; further keys of an aggregation
have none. The gzip header has no time, so that equal profiles are equal bytes.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from sonde.formats.profile import INLINED, KERNEL, KEY, PYTHON, USER, Profile, ProfileError, ProfileFrame, ProfileFrames
from sonde.formats.protobuf import WireError, fields, integer, numbers, packed, piece, signed, varint
from sonde.untrusted import unpacked

# Fields of Profile, then of the messages in it.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING, _TIME, _DURATION = 1, 2, 3, 4, 5, 6, 9, 10
_PERIOD_TYPE, _PERIOD = 11, 12
_MAPPING_FILE, _MAPPING_HAS_FUNCTIONS = 5, 7
_LOCATION_MAPPING, _LOCATION_LINE = 2, 4
_FUNCTION_NAME, _FUNCTION_SYSTEM_NAME, _FUNCTION_FILE = 2, 3, 4

_INLINED = " [inlined]"
_PYTHON = "python:"
"""What stands before the file of a function of Python's."""

_LARGEST = 16 << 20
"""Bytes of a message: a few compressed ones can become any number."""


class _Strings:
    """The table of strings, whose first is empty."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def pieces(self) -> bytes:
        return b"".join([piece(_STRING, text.encode(errors="replace")) for text in self._numbers])


def write(profile: Profile) -> bytes:
    """The file's bytes."""
    strings = _Strings()
    value_type = integer(1, strings.number(profile.value)) + integer(2, strings.number(profile.unit or "count"))
    message = piece(_SAMPLE_TYPE, value_type)
    # pprof has the innermost frame first, and numbers locations from 1.
    places = [varint(number) for number in range(1, len(profile.frames) + 1)]
    message += b"".join(
        [
            piece(_SAMPLE, piece(1, b"".join([places[frame] for frame in reversed(stack)])) + packed(2, (number,)))
            for stack, number in profile.stacks.items()
        ]
    )
    message += b"".join(_places(profile, strings))
    message += integer(_TIME, profile.time) + integer(_DURATION, profile.duration)
    message += piece(_PERIOD_TYPE, value_type) + integer(_PERIOD, 1) + strings.pieces()
    return gzip.compress(message, 6, mtime=0)


def _places(profile: Profile, strings: _Strings) -> Iterator[bytes]:
    """The mappings, locations and functions."""
    files = dict.fromkeys(_file(frame) for frame in profile.frames if _is_mapped(frame))
    # pprof takes the first for the program itself.
    mappings = {file: number for number, file in enumerate(sorted(files, key=_is_no_program), 1)}
    for number, frame in enumerate(profile.frames, 1):
        mapping = mappings[_file(frame)] if _is_mapped(frame) else 0
        line = integer(1, number)
        yield piece(_LOCATION, integer(1, number) + integer(_LOCATION_MAPPING, mapping) + piece(_LOCATION_LINE, line))
        name = strings.number(frame.name + (_INLINED if frame.kind == INLINED else ""))
        names = integer(_FUNCTION_NAME, name) + integer(_FUNCTION_SYSTEM_NAME, name)
        if frame.kind == PYTHON:
            names += integer(_FUNCTION_FILE, strings.number(_PYTHON + frame.module))
        yield piece(_FUNCTION, integer(1, number) + names)
    for file, number in mappings.items():
        content = integer(1, number) + integer(_MAPPING_FILE, strings.number(file))
        yield piece(_MAPPING, content + integer(_MAPPING_HAS_FUNCTIONS, 1))


def _is_mapped(frame: ProfileFrame) -> bool:
    """Whether the frame's code is that of an object: of Python's functions the file is that of their source."""
    return bool(frame.module) and frame.kind != PYTHON


def _file(frame: ProfileFrame) -> str:
    return f"[{frame.module}]" if frame.kind == KERNEL else frame.module


def _is_no_program(file: str) -> bool:
    return file.startswith("[") or ".so" in file


def read(data: bytes, title: str = "") -> Profile:
    """The last kind of value of a file, which is what pprof shows first. Raises ProfileError."""
    try:
        return _Reader(unpacked(data, _LARGEST) if data[:2] == b"\x1f\x8b" else data).profile(title)
    except (WireError, OSError, EOFError, zlib.error) as error:
        raise ProfileError(f"it is no profile of pprof, or a damaged one ({error})") from error


class _Reader:
    """The parts of a message by their kinds."""

    def __init__(self, data: bytes) -> None:
        self._parts: dict[int, list[int | bytes]] = {}
        for field, value in fields(data):
            self._parts.setdefault(field, []).append(value)
        self._strings = [_bytes(text).decode(errors="replace") for text in self._parts.get(_STRING, ())]
        if not self._strings or not self._parts.get(_SAMPLE_TYPE):
            raise WireError("there is no kind of value")

    def profile(self, title: str) -> Profile:
        frames = self._locations()
        table = ProfileFrames()
        stacks: dict[tuple[int, ...], int] = {}
        for sample in self._parts.get(_SAMPLE, ()):
            locations: list[int] = []
            values: list[int] = []
            for field, value in fields(_bytes(sample)):
                if field in (1, 2):
                    (locations if field == 1 else values).extend(numbers(value))
            if not values or not frames.keys() >= set(locations):
                raise WireError("a sample without a value, or of a location that is not there")
            inner_first = [frame for location in locations for frame in frames[location]]
            stack = tuple([table.number(frame) for frame in reversed(inner_first)])
            stacks[stack] = stacks.get(stack, 0) + signed(values[-1])
        kind = dict(fields(_bytes(self._parts[_SAMPLE_TYPE][-1])))
        names = self._string(kind.get(1, 0)), self._string(kind.get(2, 0))
        return Profile(title, *names, table.frames(), stacks, self._number(_TIME), self._number(_DURATION))

    def _number(self, field: int) -> int:
        value = self._parts.get(field, [0])[-1]
        return value if isinstance(value, int) else 0

    def _string(self, number: int | bytes) -> str:
        if not isinstance(number, int) or number >= len(self._strings):
            raise WireError("a string that is not there")
        return self._strings[number]

    def _locations(self) -> dict[int, list[ProfileFrame]]:
        """The frames of each location by its number, the innermost first."""
        functions = {_id(each): self._string(_one(each, _FUNCTION_NAME)) for each in self._parts.get(_FUNCTION, ())}
        sources = {
            _id(each): source
            for each in self._parts.get(_FUNCTION, ())
            if (source := self._string(dict(fields(_bytes(each))).get(_FUNCTION_FILE, 0))).startswith(_PYTHON)
        }
        modules = {_id(each): self._string(_one(each, _MAPPING_FILE)) for each in self._parts.get(_MAPPING, ())}
        found = {}
        for each in self._parts.get(_LOCATION, ()):
            module = modules.get(_one(each, _LOCATION_MAPPING), "")
            lines = [value for field, value in fields(_bytes(each)) if field == _LOCATION_LINE]
            called = [_one(line, 1) for line in lines]
            if not functions.keys() >= set(called):
                raise WireError("a function that is not there")
            # All lines of a location but the last are of functions inlined there.
            whole = [_frame(functions[number], sources.get(number, module)) for number in called]
            whole = whole or [_frame(hex(_one(each, 3)), module)]
            found[_id(each)] = [*[frame._replace(kind=INLINED) for frame in whole[:-1]], whole[-1]]
        return found


def _frame(name: str, module: str) -> ProfileFrame:
    if module.startswith(_PYTHON):
        return ProfileFrame(name, module.removeprefix(_PYTHON), PYTHON)
    if name.endswith(_INLINED):
        return ProfileFrame(name.removesuffix(_INLINED), module, INLINED)
    if module.startswith("[") and module.endswith("]"):
        return ProfileFrame(name, module[1:-1], KERNEL)
    return ProfileFrame(name, module, USER if module else KEY)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise WireError("a number where a message should be")
    return value


def _one(message: int | bytes, field: int) -> int:
    """A number of a message, 0 where there is none."""
    value = dict(fields(_bytes(message))).get(field, 0)
    return value if isinstance(value, int) else 0


def _id(message: int | bytes) -> int:
    return _one(message, 1)
