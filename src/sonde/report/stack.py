"""Addresses as text: single symbols and whole stacks."""

from __future__ import annotations

import re

from sonde.consume.events import Value
from sonde.consume.options import Options
from sonde.report.symbolizer import Symbolizer
from sonde.spec import Field

_GLUE = re.compile(rb"vmlinux`(__traceiter_|__bpf_trace_|bpf_trace_run|bpf_prog_)").match


def _encoded(name: str) -> bytes:
    return name.encode(errors="surrogateescape")


def _plus(offset: int) -> bytes:
    return b"+0x%x" % offset if offset else b""


class Addresses:
    """Names addresses as DTrace does: module`symbol+0xoffset, and less where less is asked for or known."""

    def __init__(self, symbolizer: Symbolizer, options: Options) -> None:
        self._symbolizer = symbolizer
        self._options = options

    def kernel(self, address: int, detail: str = "") -> bytes:
        """A kernel address; `detail` as in `spec.Field`: `mod`, `sym` and `func` leave parts out."""
        found = self._symbolizer.kernel(address)
        if found is None:
            return b"0x%x" % address
        module, symbol, offset = found
        if detail == "mod":
            return _encoded(module)
        text = _encoded(f"{module}`{symbol}") if symbol else _encoded(module) + b"`0x%x" % address
        return text if detail else text + _plus(offset)

    def user(self, place: tuple[int, int], detail: str = "") -> bytes:
        """An address in a process, (process, address); `umod`, `usym` and `ufunc` leave parts out."""
        pid, address = place
        if self._options.noresolve and detail not in ("umod", "usym", "ufunc"):
            return self._unresolved(pid, address)
        found = self._symbolizer.user(pid, address)
        if found is None:
            return b"0x%x" % address
        path, symbol, offset = found
        name = _encoded(path.rpartition("/")[2])
        if detail == "umod":
            return name
        if symbol is None:
            return name + b"`0x%x" % address
        text = name + b"`" + _encoded(symbol)
        return text if detail in ("usym", "ufunc") else text + _plus(offset)

    def _unresolved(self, pid: int, address: int) -> bytes:
        """The object and the offset into it: what the option noresolve wants."""
        found = self._symbolizer.place(pid, address)
        return _encoded(found[0].rpartition("/")[2]) + b":0x%x" % found[1] if found else b"0x%x" % address

    def label(self, field: Field, value: Value) -> bytes:
        """The text of a field of kind `symbol` or `user_symbol`."""
        match value:
            case (int(pid), int(address)):
                return self.user((pid, address), field.detail)
            case int(address):
                return self.kernel(address, field.detail)
            case _:
                return b""

    def kernel_stack(self, addresses: tuple[int, ...], frames: int | None = None, indent: int | None = None) -> bytes:
        """A newline, then one line a frame, at most `frames` of them; what stands between the probed code and the
        program at a tracepoint is left out."""
        names = [self.kernel(address) for address in addresses]
        start = next((n for n, name in enumerate(names) if not _GLUE(name)), 0)
        return self._frames(names[start:][:frames], indent)

    def user_stack(self, stack: tuple[int, tuple[int, ...]], indent: int | None = None) -> bytes:
        pid, addresses = stack
        return self._frames([self.user((pid, address)) for address in addresses], indent)

    def _frames(self, frames: list[bytes], indent: int | None) -> bytes:
        margin = b" " * (self._options.stackindent if indent is None else indent)
        return b"\n" + b"".join([margin + frame + b"\n" for frame in frames])
