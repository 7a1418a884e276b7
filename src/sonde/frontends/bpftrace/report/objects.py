"""Structures that the language itself has values of: buffers, stacks and addresses that are shown by names."""

from __future__ import annotations

from collections.abc import Iterable
from socket import AF_INET, AF_INET6, inet_ntop

from sonde.consume.stack_values import stack_value, user_stack_value
from sonde.consume.stacks import ADDRESS, addresses, process_of
from sonde.frontends.bpftrace.object_names import GLUE_FRAMES
from sonde.report.callers import are_calls, kernel_place, python_frame, user_place
from sonde.report.stack import Addresses
from sonde.report.symbolizer import Symbolizer

_MARGIN = b" " * 8
_LENGTH = 4
"""Bytes of the length that a buffer begins with."""
_PRINTABLE = range(32, 127)


def buffer_text(data: bytes, form: str = "r") -> bytes:
    """A buffer as `%r`, `%rx` or `%rh` shows it."""
    content = buffer_bytes(data)
    if form == "rh":
        return content.hex(" ").encode()
    if form == "rx":
        return b"".join(b"\\x%02x" % byte for byte in content)
    return b"".join(b"%c" % byte if byte in _PRINTABLE else b"\\x%02x" % byte for byte in content)


def buffer_bytes(data: bytes) -> bytes:
    """What a buffer has."""
    return data[_LENGTH : _LENGTH + int.from_bytes(data[:_LENGTH], "little")]


def address_text(data: bytes) -> bytes:
    """An address of a network: three words, its family and its bytes."""
    family = int.from_bytes(data[:ADDRESS], "little")
    if family not in (AF_INET, AF_INET6):
        return b""
    size = 4 if family == AF_INET else 16
    address = data[ADDRESS : ADDRESS + size]
    return inet_ntop(family, address).encode() if len(address) == size else b""


class ObjectText:
    """Text of such structures, by the keyword that their type's name begins with."""

    def __init__(self, names: Addresses, symbolizer: Symbolizer) -> None:
        self._names = names
        self._symbolizer = symbolizer

    def text(self, keyword: str, data: bytes) -> bytes:
        """What print() shows of one whose memory begins with `data`."""
        kind, _, mode = keyword.partition("_")
        match kind:
            case "buffer":
                return buffer_text(data)
            case "inet":
                return address_text(data)
            case "ksym":
                return self._kernel(int.from_bytes(data[:ADDRESS], "little"), False, False)
            case "usym":
                process, address = (int.from_bytes(data[at : at + ADDRESS], "little") for at in (0, ADDRESS))
                return self._user(process, address, False, False, "")
            case "kstack":
                return self._kernel_stack(data, mode)
            case _:
                return self._user_stack(data, mode)

    def _kernel_stack(self, data: bytes, mode: str) -> bytes:
        most = len(data) // ADDRESS - GLUE_FRAMES
        frames = addresses(self._names.beyond_glue(stack_value(data), most))
        named = (self._kernel(each, True, number > 0) for number, each in enumerate(frames))
        return _lines(frames, named, mode)

    def _user_stack(self, data: bytes, mode: str) -> bytes:
        value = user_stack_value(data)
        process, frames = process_of(value), addresses(value)[1:]
        if mode == "build_id":
            return b"\n" + b"".join(self._built(process, each) + b"\n" for each in frames)
        calls = are_calls(self._symbolizer, process, frames)
        named = (self._user(process, each, True, call, mode) for each, call in zip(frames, calls, strict=True))
        return _lines(frames, named, mode)

    def _built(self, process: int, address: int) -> bytes:
        """The build id of a frame's file and the offset in it; the address alone where there is none."""
        word = python_frame(self._symbolizer, address)
        if word is not None:
            return self._names.python(word)
        found = self._symbolizer.build(process, address)
        return b"0x%x" % address if found is None else b"%s 0x%x" % (self._names.encoded(found[0]), found[1])

    def _kernel(self, address: int, shows_offset: bool, is_call: bool) -> bytes:
        found = kernel_place(self._symbolizer, address, is_call)
        if found is None or not found[1]:
            return b"0x%x" % address
        return self._names.encoded(found[1]) + (b"+%d" % found[2] if shows_offset else b"")

    def _user(self, process: int, address: int, shows_offset: bool, is_call: bool, mode: str) -> bytes:
        word = python_frame(self._symbolizer, address)
        if word is not None:
            return self._names.python(word)
        found = user_place(self._symbolizer, process, address, is_call)
        if found is None or not found.function:
            name = b"0x%x" % address
        else:
            name = self._names.encoded(found.function) + (b"+%d" % found.offset if shows_offset else b"")
        if mode != "perf":
            return name
        return name + b" (%s)" % (b"[unknown]" if found is None else self._names.encoded(found.path))


def _lines(frames: tuple[int, ...], named: Iterable[bytes], mode: str) -> bytes:
    """A newline, then one line a frame."""
    if mode == "raw":
        return b"\n" + b"".join(b"%x\n" % each for each in frames)
    texts = list(named)
    if mode == "perf":
        return b"\n" + b"".join(b"\t%x %s\n" % each for each in zip(frames, texts, strict=True))
    return b"\n" + b"".join(_MARGIN + each + b"\n" for each in texts)
