"""Keys of an aggregation as frames: addresses get the names that the report shows, without offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from sonde.consume.events import Value
from sonde.consume.options import Options
from sonde.consume.stacks import ADDRESS, addresses
from sonde.formats.profile import INLINED, KERNEL, KEY, PYTHON, USER, ProfileFrame
from sonde.model.records import Field
from sonde.report.callers import are_calls, interrupts, kernel_place, python_frame, user_place
from sonde.report.stack import Addresses
from sonde.report.symbolizer import Symbolizer
from sonde.typed import cast
from sonde.visible import visible

STACKS = ("stack", "ustack")
"""The kinds of fields that are stacks."""

_MOST_FRAMES = 4
"""So many functions of a stack stand in a label."""


class _Known(dict[int, tuple[ProfileFrame, ...]]):
    """The frames of addresses that have been asked for: met again they cost no call of Python code."""

    def __init__(self, frames: Callable[[int], tuple[ProfileFrame, ...]]) -> None:
        self._frames = frames

    def __missing__(self, address: int) -> tuple[ProfileFrame, ...]:
        found = self[address] = self._frames(address)
        return found


class KeyFrames:
    """Makes frames of keys. One frame is made for each address of a process."""

    def __init__(self, symbolizer: Symbolizer, options: Options) -> None:
        self._symbolizer = symbolizer
        self._options = options
        self._addresses = Addresses(symbolizer, options)
        self._kernel: dict[tuple[int, bool], ProfileFrame] = {}
        self._callers: dict[int, _Known] = {}
        self._innermost: dict[int, _Known] = {}
        self._interrupting: dict[int, set[int]] = {}
        """Addresses of a process that handlers of signals return to."""

    def of(self, fields: tuple[Field, ...], key: tuple[Value, ...]) -> list[ProfileFrame]:
        """The outermost first: further keys, then a process's stack, then the kernel's on top of it."""
        found: list[ProfileFrame] = []
        parts = list(zip(fields, key, strict=True))
        found += [ProfileFrame(self._text(field, value), "", KEY) for field, value in parts if field.kind not in STACKS]
        for field, value in parts:
            if field.kind == "ustack":
                found += self._user_stack(cast("bytes", value))
        for field, value in parts:
            if field.kind == "stack":
                found += self._kernel_stack(cast("bytes", value), int(field.detail or 0) or None)
        return found

    def cut_at(self, fields: tuple[Field, ...], key: tuple[Value, ...]) -> int:
        """How many frames a stack of this key has room for, if it has as many: there may have been more; else 0."""
        for field, value in zip(fields, key, strict=True):
            room, frames = 0, 0
            if field.kind == "ustack":
                room = field.size // 8 - 1
                frames = len(cast("bytes", value)) // ADDRESS - 1
            elif field.kind == "stack":
                room = int(field.detail or 0) or field.size // 8
                frames = len(self._addresses.beyond_glue(cast("bytes", value))) // ADDRESS
            if room and frames >= room:
                return room
        return 0

    def label(self, fields: tuple[Field, ...], key: tuple[Value, ...]) -> str:
        """A key in a line: its parts, of stacks the innermost functions."""
        frames = self.of(fields, key)
        parts = [frame.name for frame in frames if frame.kind == KEY]
        stack = [frame.name for frame in reversed(frames) if frame.kind != KEY]
        if stack:
            parts.append(" ← ".join(stack[:_MOST_FRAMES]) + (" ← …" if len(stack) > _MOST_FRAMES else ""))
        return ", ".join(parts)

    def _text(self, field: Field, value: Value) -> str:
        return key_text(field, value, self._addresses)

    def _kernel_stack(self, stack: bytes, most: int | None) -> list[ProfileFrame]:
        shown = self._addresses.beyond_glue(stack, most)
        is_first = shown[:ADDRESS] == stack[:ADDRESS]
        keys = [(address, number > 0 or not is_first) for number, address in enumerate(addresses(shown))]
        return [self._kernel.get(key) or self._kernel_frame(*key) for key in reversed(keys)]

    def _kernel_frame(self, address: int, calls: bool) -> ProfileFrame:
        found = kernel_place(self._symbolizer, address, calls)
        if found is None:
            frame = ProfileFrame("[unknown]", "", KERNEL)
        else:
            module, symbol, _ = found
            frame = ProfileFrame(visible(symbol or "[unknown]"), visible(module), KERNEL)
        self._kernel[address, calls] = frame
        return frame

    def _user_stack(self, stack: bytes) -> Iterator[ProfileFrame]:
        process, *places = addresses(stack)
        callers = self._callers.get(process)
        if callers is None:
            callers = self._callers[process] = _Known(lambda address: self._user_frames(process, address, False))
            self._innermost[process] = _Known(lambda address: self._user_frames(process, address, True))
            self._interrupting[process] = set()
        innermost, interrupting = self._innermost[process], self._interrupting[process]
        outer = list(chain.from_iterable(map(callers.__getitem__, reversed(places[1:]))))
        if not interrupting.isdisjoint(places):
            chosen = zip(places, are_calls(self._symbolizer, process, places), strict=True)
            found = [(callers if calls else innermost)[address] for address, calls in chosen]
            outer = list(chain.from_iterable(reversed(found[1:])))
        yield from outer
        yield from chain.from_iterable(map(innermost.__getitem__, places[:1]))

    def _user_frames(self, process: int, address: int, is_innermost: bool) -> tuple[ProfileFrame, ...]:
        """A function and what is inlined there: at the address, or behind the call that returns to it."""
        python = python_frame(self._symbolizer, address)
        if python is not None:
            return (ProfileFrame(visible(python.name), _module(python.file), PYTHON),)
        if self._options.noresolve:
            place = self._symbolizer.place(process, address)
            return (ProfileFrame(hex(place[1]), _module(place[0])) if place else ProfileFrame(hex(address)),)
        if interrupts(self._symbolizer, process, address):
            self._interrupting[process].add(address)
        found = user_place(self._symbolizer, process, address, not is_innermost)
        if found is None:
            return (ProfileFrame("[unknown]"),)
        module = visible(found.module)
        function = ProfileFrame(visible(found.function or "[unknown]"), module, USER)
        if not self._options.inlines:
            return (function,)
        inlined = self._symbolizer.inlined(process, address if is_innermost else address - 1)
        return (function, *[ProfileFrame(visible(each), module, INLINED) for each in reversed(inlined) if each])


def _module(path: str) -> str:
    return visible(path.rpartition("/")[2])


def key_text(field: Field, value: Value, addresses: Addresses) -> str:
    """A part of a key that is no stack, in a few characters."""
    if isinstance(value, int):
        return str(value)
    if field.kind in ("symbol", "user_symbol"):
        return visible(addresses.label(field, value).decode(errors="surrogateescape"))
    if isinstance(value, bytes):
        bare = value.rstrip(b"\0")
        if field.kind == "bytes" and not bare.isascii():
            return value.hex()
        return visible(bare.decode(errors="surrogateescape")) or '""'
    return visible(repr(value))
