"""Recorded values as Python's: numbers, str, bytes, frames and stacks, objects, packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.consume.decode import CACHED_BYTES, CACHED_STRINGS
from sonde.consume.generated import GeneratedExpression, code, constant, tuple_of
from sonde.consume.stacks import addresses, process_of
from sonde.library.frames import Frame, Stack
from sonde.library.objects import Object, object_value
from sonde.library.own_values import own_values, own_word
from sonde.model.records import (
    REAL,
    Action,
    ArraySpec,
    CaptureAction,
    Field,
    PacketAction,
    PrintAction,
    TracememAction,
    TypeSpec,
)
from sonde.recent import Recent
from sonde.report.callers import are_calls, kernel_place, python_frame, user_place
from sonde.report.number import as_real
from sonde.report.stack import GLUE
from sonde.report.symbolizer import Symbolizer
from sonde.typed import Any, NamedTuple

_COARSE = ("mod", "sym", "func", "umod", "usym", "ufunc")

_MOST_FRAMES = 1 << 15
"""Frames that are kept, some 400 bytes each."""

FindLine = Callable[[int, int], "tuple[str, int]"]
"""The source file and line of an address of a process (-1: the kernel); "" and 0 where they are not known."""


class CapturedPacket(NamedTuple):
    """What capture() or pcap() recorded: `time` in ns since 1970, the packet's `length`, what was captured of it."""

    time: int
    length: int
    data: bytes


class _Decoded(dict[bytes, str]):
    """The text of recorded bytes, which come again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def __missing__(self, data: bytes) -> str:
        self._bytes += len(data)
        if len(self) >= CACHED_STRINGS or self._bytes > CACHED_BYTES:
            self.clear()
            self._bytes = len(data)
        text = self[data] = data.decode(errors="surrogateescape")
        return text


class Values:
    """Makes the values of one run. `types` are those that print() has (`spec.TracingSpec`)."""

    def __init__(
        self, symbolizer: Symbolizer, types: Sequence[TypeSpec] = (), find_line: FindLine | None = None
    ) -> None:
        self._symbolizer = symbolizer
        self._types = types
        self._find_line = find_line
        self._changes = symbolizer.changes
        self._frames: Recent[tuple[int, int, bool], Frame] = Recent(_MOST_FRAMES)
        self._decoded = _Decoded()
        self._own = own_values(self)
        self.functions: dict[str, Any] = {
            "decoded": self._decoded, "kernel_stack": self.kernel_stack, "user_stack": self.user_stack,
            "kernel_symbol": self.kernel_symbol, "user_symbol": self.user_symbol, "printed": self.printed,
            "cut": _cut, "Packet": CapturedPacket, "own": self._own, "as_real": as_real,
        }  # fmt: skip

    def names(self, action: Action, called: Iterator[str]) -> tuple[str, ...]:
        """What the source calls the values of a statement, from the names of the whole record."""
        match action:
            case CaptureAction() | PacketAction():
                return ("",)
            case TracememAction() | PrintAction():
                return (next(called, ""),)
            case _:
                fields = getattr(action, "fields", (None,))
                return tuple(next(called, "") for _ in fields)

    def expressions(self, action: Action, fields: Sequence[GeneratedExpression]) -> list[GeneratedExpression]:
        """The expressions of a statement's values, from those of its fields."""
        match action:
            case CaptureAction():
                return [code("Packet(*{})", tuple_of(fields))]
            case PacketAction():
                time, length, data, captured = fields
                return [code("Packet({}, {}, {}[:{}])", time, length, data, captured)]
            case TracememAction(_, dynamic):
                return [code("cut(*{})", tuple_of(fields))] if dynamic is not None else list(fields)
            case PrintAction():
                return [code("printed({}, *{})", constant(action.type), tuple_of(fields))]
            case _:
                known = getattr(action, "fields", None) or (getattr(action, "field"),)  # noqa: B009 (of a union)
                return [self.expression(field, each) for field, each in zip(known, fields, strict=True)]

    def expression(self, field: Field, decoded: GeneratedExpression) -> GeneratedExpression:
        """The expression of a value from that of the decoded field (`consume.decode`)."""
        match field.kind:
            case "string" | "interned" | "long_string" | "named" | "noted":
                return code("decoded[{}]", decoded)
            case "stack":
                return code("kernel_stack({}, {})", decoded, constant(int(field.detail or 0)))
            case "ustack":
                return code("user_stack({})", decoded)
            case "symbol":
                return code("kernel_symbol({}, {})", decoded, constant(field.detail))
            case "user_symbol":
                return code("user_symbol(*{}, {})", decoded, constant(field.detail))
            case "bytes" if own_word(field.detail):
                return code("own({}, {})", constant(own_word(field.detail)), decoded)
            case "int" | "bytes" if field.detail == REAL:
                return code("as_real({}, {})", decoded, constant(field.size))
            case _:
                return decoded

    def value(self, field: Field, decoded: Any) -> Any:
        """A value from that of a decoded field, as keys of aggregations are."""
        match field.kind:
            case "string" | "interned" | "long_string" | "named" | "noted":
                return self._decoded[decoded]
            case "stack":
                return self.kernel_stack(decoded, int(field.detail or 0))
            case "ustack":
                return self.user_stack(decoded)
            case "symbol":
                return self.kernel_symbol(decoded, field.detail)
            case "user_symbol":
                process, address = decoded
                return self.user_symbol(process, address, field.detail)
            case "bytes" if own_word(field.detail):
                return self._own(own_word(field.detail), decoded)
            case "int" | "bytes" if field.detail == REAL:
                return as_real(decoded, field.size)
            case _:
                return decoded

    def typed(self, field: Field, number: int, decoded: Any) -> Any:
        """The same of what has a type, by its number: raw bytes are an object then."""
        return (
            object_value(self._types, number, decoded, self._own)
            if field.kind == "bytes"
            else (self.value(field, decoded))
        )

    def element(self, array: ArraySpec, data: bytes) -> Any:
        """The value of an element of an array that is kept."""
        field = array.value
        if field.kind == "int":
            return int.from_bytes(data[: field.size], "little", signed=field.signed)
        return object_value(self._types, array.type, data, self._own)

    def kernel_stack(self, stack: bytes, most: int = 0) -> Stack:
        """The frames of a kernel stack (`consume.stacks`), `most` of them unless 0, without what stands between the
        probed code and the program at a tracepoint."""
        frames = [self.kernel_frame(each, place > 0) for place, each in enumerate(addresses(stack))]
        start = next((place for place, each in enumerate(frames) if not _is_glue(each)), 0)
        return Stack(frames[start : start + most if most else None])

    def user_stack(self, stack: bytes) -> Stack:
        """The frames of a process's stack."""
        process, *found = addresses(stack) or (0,)
        calls = are_calls(self._symbolizer, process, found)
        frames = [
            Frame(0, python.name, "", 0, python.file, python.line)
            if (python := python_frame(self._symbolizer, each)) is not None
            else self.user_frame(process, each, call)
            for each, call in zip(found, calls, strict=True)
        ]
        return Stack(frames, process_of(stack) & 0xFFFFFFFF)

    def kernel_frame(self, address: int, calls: bool = False) -> Frame:
        """`calls`: a call returns to that address."""
        key = -1, address, calls
        frame = self._frames.get(key)
        if frame is None:
            found = kernel_place(self._symbolizer, address, calls)
            module, function, offset = found or ("", "", 0)
            frame = self._keep(key, Frame(address, function, module, offset, *self._line(-1, address, calls)))
        return frame

    def user_frame(self, process: int, address: int, calls: bool = False) -> Frame:
        """The same of a process."""
        changes = self._symbolizer.changes
        if changes != self._changes:
            self._frames.clear()
            self._changes = changes
        key = process, address, calls
        frame = self._frames.get(key)
        if frame is not None:
            return frame
        found = user_place(self._symbolizer, process, address, calls)
        if found is None:
            # It may become known.
            return Frame(address)
        line = self._line(process, address, calls)
        return self._keep(key, Frame(address, found.function, found.path, found.offset, *line))

    def kernel_symbol(self, address: int, detail: str) -> Frame:
        """What mod(), sym() or func() has recorded (`spec.Field`)."""
        return _coarse(self.kernel_frame(address), detail)

    def user_symbol(self, process: int, address: int, detail: str) -> Frame:
        """What umod(), usym(), ufunc() or uaddr() has recorded."""
        return _coarse(self.user_frame(process, address), detail)

    def _line(self, process: int, address: int, calls: bool) -> tuple[str, int]:
        return self._find_line(process, address - calls) if self._find_line is not None else ("", 0)

    def _keep(self, key: tuple[int, int, bool], frame: Frame) -> Frame:
        return self._frames.put(key, frame)

    def printed(self, number: int, data: bytes, address: int | None = None) -> Object:
        """What print() records."""
        return Object(object_value(self._types, number, data, self._own), self._types[number].name, address)


def _is_glue(frame: Frame) -> bool:
    return frame.module == "vmlinux" and frame.function.startswith(GLUE)


def _coarse(frame: Frame, detail: str) -> Frame:
    """The frame as far as somebody wants to know: all addresses of a function, or module, are one."""
    if not frame.module or detail not in _COARSE:
        return frame
    if detail in ("mod", "umod"):
        return Frame(0, "", frame.module)
    return Frame(frame.address - frame.offset, frame.function, frame.module) if frame.function else frame


def _cut(data: bytes, size: int) -> bytes:
    """The bytes that tracemem() is to show, all if `size` is negative."""
    return data if size < 0 else data[:size]
