"""Tracepoints: raw ones with their kernel arguments, and trace events with the record of their format.

A raw tracepoint whose arguments are used as pointers is attached by BTF (tp_btf), so that the first hop through a
pointer is a direct load; else as a raw one. Both have the arguments as u64 values.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf import programs
from sonde.codegen.context.cookies import index_by_cookie
from sonde.codegen.generation import Generation, Unsupported
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.places import Memory, Place
from sonde.lang.errors import Position
from sonde.lang.types import Array, Int, Struct, Type, is_signed, resolve, size_of
from sonde.probe import Probe, RawTracepoint, Tracepoint

Fields = Callable[[Probe], tuple[tuple[str, Type, int, int], ...]]
"""The fields of a trace event's record: name, type, offset and size in bytes."""


class RawTracepointContext:
    attach_type = programs.ATTACH_NONE

    def __init__(self, probes: tuple[Probe, ...], by_btf: bool) -> None:
        self.probes = probes
        first = probes[0].firing
        assert isinstance(first, RawTracepoint)
        self._count = first.arguments
        self._by_btf = by_btf
        self.kind = programs.TRACING if by_btf else programs.RAW_TRACEPOINT
        self.attach_type = programs.TRACE_RAW_TP if by_btf else programs.ATTACH_NONE
        self.attach_to = f"btf_trace_{first.name}" if by_btf else None

    def enter(self, g: Generation) -> Operand:
        return index_by_cookie(g, len(self.probes), "raw_tp_cookie")

    def argument(self, g: Generation, number: int) -> Operand:
        if 0 <= self._count <= number:
            return Imm(0)
        return g.b.load(g.ctx, 8 * number, 8, invariant=True)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        value = self.argument(g, number)
        size = size_of(type_) or 8
        return value if size >= 8 else g.b.extend(value, size, is_signed(type_))

    def errno(self, g: Generation) -> Operand:
        return Imm(0)

    def is_trusted(self, number: int) -> bool:
        return self._by_btf

    def table_size(self) -> int:
        return len(self.probes)

    def index_of(self, probe: Probe) -> int:
        return self.probes.index(probe)

    def cookies(self) -> tuple[tuple[Probe, int], ...]:
        return tuple((probe, number) for number, probe in enumerate(self.probes))


class TracepointContext:
    """A trace event through perf: arguments are the fields of its record, in the order of the format."""

    kind = programs.TRACEPOINT
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None

    def __init__(self, probes: tuple[Probe, ...], fields: Fields) -> None:
        self.probes = probes
        assert isinstance(probes[0].firing, Tracepoint)
        self._fields = fields(probes[0])

    def enter(self, g: Generation) -> Operand:
        return index_by_cookie(g, len(self.probes), "perf_cookie")

    def argument(self, g: Generation, number: int) -> Operand:
        if number >= len(self._fields):
            return Imm(0)
        _, type_, offset, size = self._fields[number]
        if size in (1, 2, 4, 8) and not isinstance(resolve(type_), (Array, Struct)):
            return g.b.load(g.ctx, offset, size, is_signed(type_), invariant=True)
        return g.b.alu("add", g.ctx, Imm(offset))

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        if number >= len(self._fields):
            raise Unsupported(f"args[{number}]", Position(None, 1, 1))
        _, field_type, offset, _ = self._fields[number]
        if isinstance(resolve(field_type), (Array, Struct)):
            return Memory(g.ctx, offset)
        value = self.argument(g, number)
        base = resolve(type_)
        return g.b.extend(value, base.size, base.signed) if isinstance(base, Int) else value

    def errno(self, g: Generation) -> Operand:
        return Imm(0)

    def is_trusted(self, number: int) -> bool:
        return False

    def table_size(self) -> int:
        return len(self.probes)

    def index_of(self, probe: Probe) -> int:
        return self.probes.index(probe)

    def cookies(self) -> tuple[tuple[Probe, int], ...]:
        return tuple((probe, number) for number, probe in enumerate(self.probes))
