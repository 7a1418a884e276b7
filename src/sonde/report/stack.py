"""Addresses as text: single symbols and whole stacks."""

from __future__ import annotations

from collections.abc import Callable

from sonde.consume.events import Value
from sonde.consume.options import Options
from sonde.consume.stacks import ADDRESS, addresses, process_of
from sonde.model.python_frames import NOT_KNOWN, PythonFrame
from sonde.model.records import Field
from sonde.recent import Recent
from sonde.report.callers import are_calls, interrupts, kernel_place, python_frame, user_place
from sonde.report.symbolizer import Symbolizer
from sonde.visible import single_line, visible

_MOST_BYTES = 32 << 20
"""Of the texts that are kept, with what it takes to find them again."""

_EMPTY, _ENTRY = 1500, 200
"""Bytes that a process takes without texts, and a text besides its own."""

_CHUNK = 8 * ADDRESS
"""Frames that are kept as one text, in bytes of a stack."""

_MOST_COLUMNS = 1024
"""Before a frame: each way to indent has its own texts, and a record may choose it."""

GLUE = ("__traceiter_", "__bpf_trace_", "bpf_trace_run", "bpf_prog_")
"""How functions of the kernel are called that stand between the code at a tracepoint and the program."""
_GLUE = tuple(b"vmlinux`" + name.encode() for name in GLUE)

_MOST_ANSWERS = 1 << 12
"""Addresses of which it is known whether they are such functions'."""


def _plus(offset: int) -> bytes:
    return b"+0x%x" % offset if offset else b""


class _Lines(dict[int, bytes]):
    """The lines of frames by their addresses, each made once, unless its name may still become known."""

    def __init__(
        self, kept: _KeptLines, make: Callable[[int], tuple[bytes, bool]], margin: bytes,
        interrupting: set[int], before: Callable[[int], bytes] | None = None,
    ) -> None:  # fmt: skip
        """`before` are the lines of functions inlined in the frame; `interrupting` the addresses that handlers of
        signals return to."""
        self.interrupting = interrupting
        self.size = _EMPTY
        """Bytes of these texts and of those of chunks."""
        self._kept = kept
        self._make = make
        self._margin = margin
        self._before = before

    def __missing__(self, address: int) -> bytes:
        name, is_known = self._make(address)
        line = self._margin + name + b"\n"
        if self._before is not None and is_known:
            line = self._before(address) + line
        if is_known:
            self[address] = line
            self.grow(len(line))
        return line

    def grow(self, size: int) -> None:
        """A text of that size is kept as well."""
        self.size += size + _ENTRY
        self._kept.size += size + _ENTRY


class _Chunks(dict[bytes, bytes]):
    """The text of some successive frames by their addresses: stacks differ inside and are the same further out."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines

    def __missing__(self, chunk: bytes) -> bytes:
        frames = addresses(chunk)
        text = b"".join(map(self.lines.__getitem__, frames))
        if self.lines.keys() >= set(frames):
            self[chunk] = text
            self.lines.grow(len(chunk) + len(text))
        return text


class _KeptLines:
    """The lines of the processes of which stacks were shown lately, in two halves (`recent.py`): as soon as the new one
    has half of the bytes it is the old one."""

    def __init__(self) -> None:
        self._new: dict[tuple[int, int, bool], _Chunks] = {}
        self._old: dict[tuple[int, int, bool], _Chunks] = {}
        self.size = 0
        """Bytes of the new half."""

    def get(self, key: tuple[int, int, bool]) -> _Chunks | None:
        """Those of a process, by the columns before them, and for innermost frames."""
        if self.size > _MOST_BYTES // 2:
            # One that has too many for itself begins anew.
            self._old = {key: each for key, each in self._new.items() if each.lines.size <= _MOST_BYTES // 4}
            self._new, self.size = {}, 0
        found = self._new.get(key)
        if found is None and (found := self._old.pop(key, None)) is not None:
            self._new[key] = found
            self.size += found.lines.size
        return found

    def put(self, key: tuple[int, int, bool], lines: _Chunks) -> _Chunks:
        self._new[key] = lines
        self.size += lines.lines.size
        return lines

    def clear(self) -> None:
        self._new, self._old, self.size = {}, {}, 0


class Addresses:
    """Names addresses as DTrace does: module`symbol+0xoffset, and less where less is asked for or known."""

    def __init__(self, symbolizer: Symbolizer, options: Options) -> None:
        self._symbolizer = symbolizer
        self._options = options
        self._changes = 0
        self._lines = _KeptLines()
        self._glue: Recent[int, bool] = Recent(_MOST_ANSWERS)
        self._escape = single_line

    def suit(self, is_terminal: bool) -> None:
        """Names are for people from here on, or for whoever reads a file: who makes an object chooses them."""
        self._escape = visible if is_terminal else single_line
        self._lines.clear()

    def encoded(self, name: str) -> bytes:
        """A name, as it may be shown."""
        return self._escape(name).encode(errors="surrogateescape")

    def kernel(self, address: int, detail: str = "", calls: bool = False) -> bytes:
        """A kernel address; `detail` as in `spec.Field`: `mod`, `sym` and `func` leave parts out. `calls`: it is
        where a call returns to."""
        found = kernel_place(self._symbolizer, address, calls)
        if found is None:
            return b"0x%x" % address
        module, symbol, offset = found
        if detail == "mod":
            return self.encoded(module)
        text = self.encoded(f"{module}`{symbol}") if symbol else self.encoded(module) + b"`0x%x" % address
        return text if detail else text + _plus(offset)

    def user(self, place: tuple[int, int], detail: str = "", calls: bool = False) -> bytes:
        """An address in a process, (process, address); `umod`, `usym` and `ufunc` leave parts out. `calls`: it is
        where a call returns to."""
        pid, address = place
        if self._options.noresolve and detail not in ("umod", "usym", "ufunc"):
            return self._unresolved(pid, address)
        found = user_place(self._symbolizer, pid, address, calls)
        if found is None:
            return b"0x%x" % address
        name, function = self.encoded(found.module), self.encoded(found.function)
        if detail == "umod":
            return name
        if not function:
            return name + b"`0x%x" % address
        text = function if found.is_made else name + b"`" + function
        return text if detail in ("usym", "ufunc") else text + _plus(found.offset)

    def python(self, frame: PythonFrame) -> bytes:
        """A function of Python's, by the name that its source gives it, and where in that it is."""
        name, file, line = frame
        text = self.encoded(name)
        return text + b" " + self.encoded(file.rpartition("/")[2]) + b":%d" % line if file else text

    def _unresolved(self, pid: int, address: int) -> bytes:
        """The object and the offset into it: what the option noresolve wants."""
        found = self._symbolizer.place(pid, address)
        return self.encoded(found[0].rpartition("/")[2]) + b":0x%x" % found[1] if found else b"0x%x" % address

    def label(self, field: Field, value: Value) -> bytes:
        """The text of a field of kind `symbol` or `user_symbol`."""
        match value:
            case (int(pid), int(address)):
                return self.user((pid, address), field.detail)
            case int(address):
                return self.kernel(address, field.detail)
            case _:
                return b""

    def kernel_stack(self, stack: bytes, frames: int | None = None, indent: int | None = None) -> bytes:
        """A newline, then one line a frame, at most `frames` of them; what stands between the probed code and the
        program at a tracepoint is left out."""
        shown = self.beyond_glue(stack, frames)
        lines = self._lines_of(-1, indent)
        if not shown or stack[:ADDRESS] != shown[:ADDRESS]:
            # The first was taken away.
            return b"\n" + self._text(lines, shown)
        first = self._lines_of(-1, indent, True).lines[int.from_bytes(shown[:ADDRESS], "big")]
        return b"\n" + first + self._text(lines, shown[ADDRESS:])

    def beyond_glue(self, stack: bytes, frames: int | None = None) -> bytes:
        """A kernel stack without what stands between the probed code and the program, at most `frames` of it."""
        start = 0
        while start < len(stack) and self._is_glue(int.from_bytes(stack[start : start + ADDRESS], "big")):
            start += ADDRESS
        if start == len(stack):
            start = 0
        return stack[start : len(stack) if frames is None else start + frames * ADDRESS]

    def user_stack(self, stack: bytes, indent: int | None = None) -> bytes:
        """The same of a process's stack."""
        process, frames = process_of(stack), stack[ADDRESS:]
        if not frames:
            return b"\n"
        # Where it is, then where calls return to, behind the calls.
        chunks, first = self._lines_of(process, indent), self._lines_of(process, indent, True).lines
        lines = chunks.lines
        text = b"\n" + first[int.from_bytes(frames[:ADDRESS], "big")] + self._text(chunks, frames[ADDRESS:])
        interrupting = lines.interrupting | first.interrupting
        if interrupting and not interrupting.isdisjoint(found := addresses(frames)):
            chosen = (lines if each else first for each in are_calls(self._symbolizer, process, found))
            text = b"\n" + b"".join(each[address] for each, address in zip(chosen, found, strict=True))
        return text

    @staticmethod
    def _text(chosen: _Chunks, stack: bytes) -> bytes:
        # Chunks are counted from the outermost frame, where stacks of any depth are alike.
        start = len(stack) % _CHUNK
        chunks = [stack[place : place + _CHUNK] for place in range(start, len(stack), _CHUNK)]
        return b"".join(map(chosen.__getitem__, [stack[:start], *chunks]))

    def _is_glue(self, address: int) -> bool:
        found = self._glue.get(address)
        if found is None:
            found = self._glue.put(address, self.kernel(address).startswith(_GLUE))
        return found

    def _lines_of(self, process: int, indent: int | None, is_first: bool = False) -> _Chunks:
        """Those of a process's frames, or, of -1, the kernel's; `is_first`: those of innermost frames."""
        changes = self._symbolizer.changes
        if changes != self._changes:
            self._lines.clear()
            self._changes = changes
        columns = min(self._options.stackindent if indent is None else indent, _MOST_COLUMNS)
        key = process, columns, is_first
        found = self._lines.get(key)
        if found is None:
            found = self._lines.put(key, _Chunks(self._new_lines(process, b" " * columns, is_first)))
        return found

    def _new_lines(self, process: int, margin: bytes, is_first: bool) -> _Lines:
        if process < 0:
            return _Lines(self._lines, lambda address: (self.kernel(address, calls=not is_first), True), margin, set())
        before = 0 if is_first else 1
        interrupting: set[int] = set()
        inlined = (lambda at: self._inlined(process, at, before, margin)) if self._options.inlines else None

        def frame(address: int) -> tuple[bytes, bool]:
            if interrupts(self._symbolizer, process, address):
                interrupting.add(address)
            return self._user_frame(process, address, not is_first)

        return _Lines(self._lines, frame, margin, interrupting, inlined)

    def _inlined(self, process: int, address: int, before: int, margin: bytes) -> bytes:
        """What is inlined `before` bytes before the address of a frame."""
        if python_frame(self._symbolizer, address) is not None:
            return b""
        found = self._symbolizer.user(process, address)
        if found is None:
            return b""
        name = self.encoded(found[0].rpartition("/")[2])
        lines = (
            margin + name + b"`" + self.encoded(each)
            for each in self._symbolizer.inlined(process, address - before)
            if each
        )
        return b"".join(line + b" [inlined]\n" for line in lines)

    def _user_frame(self, process: int, address: int, calls: bool) -> tuple[bytes, bool]:
        found = python_frame(self._symbolizer, address)
        if found is not None:
            return self.python(found), found is not NOT_KNOWN
        is_known = self._options.noresolve or self._symbolizer.user(process, address) is not None
        return self.user((process, address), calls=calls), is_known
