"""Tracepoints: raw ones with their kernel arguments, and trace events with the record of their format.

A raw tracepoint whose arguments are used as pointers is attached by BTF (tp_btf), so that the first hop through a
pointer is a direct load; else as a raw one. Both have the arguments as u64 values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.bpf import programs
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.places import Memory, Place, Remote
from sonde.codegen.firings.cookies import index_by_cookie, numbered
from sonde.codegen.firings.plain import no_errno, trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.errors import Position
from sonde.model.probe import Probe, RawTracepoint, Tracepoint
from sonde.model.types import Array, Int, Struct, Type, is_signed, resolve, size_of
from sonde.typed import Protocol


class EventField(Protocol):
    """A field of a trace event's record: its type, offset and size in bytes.

    `location` is "" for a value in its place; for bytes elsewhere in the record the u32 at `offset` has their offset in
    its lower half, counted from the record's start ("data") or from behind that u32 ("relative").
    """

    @property
    def type(self) -> Type: ...
    @property
    def offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def location(self) -> str: ...


Fields = Callable[[Probe], Sequence[EventField]]
"""The fields that are a probe's args[], in order."""


class RawTracepointContext:
    has_kernel_stack = True
    own_frames = 2
    is_user = False
    errno = no_errno

    def __init__(self, probes: tuple[Probe, ...], by_btf: bool) -> None:
        self.probes = probes
        self.index = numbered(probes)
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

    def is_trusted(self, number: int) -> bool:
        return self._by_btf


class TracepointContext:
    """A trace event through perf: arguments are the fields of its record, in the order of the format."""

    kind = programs.TRACEPOINT
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = True
    own_frames = 0
    is_user = False
    errno = no_errno
    is_trusted = trusts_nothing

    def __init__(self, probes: tuple[Probe, ...], fields: Fields) -> None:
        self.probes = probes
        self.index = numbered(probes)
        assert isinstance(probes[0].firing, Tracepoint)
        self._fields = fields(probes[0])

    def enter(self, g: Generation) -> Operand:
        return index_by_cookie(g, len(self.probes), "perf_cookie")

    def argument(self, g: Generation, number: int) -> Operand:
        if number >= len(self._fields):
            return Imm(0)
        field = self._fields[number]
        if field.location:
            return self._elsewhere(g, field)
        if field.size in (1, 2, 4, 8) and not isinstance(resolve(field.type), (Array, Struct)):
            return g.b.load(g.ctx, field.offset, field.size, is_signed(field.type), invariant=True)
        return g.b.alu("add", g.ctx, Imm(field.offset))

    def _elsewhere(self, g: Generation, field: EventField) -> Operand:
        """The address of bytes of variable length behind the fixed part."""
        where = g.b.alu("and", g.b.load(g.ctx, field.offset, 4, invariant=True), Imm(0xFFFF))
        start = Imm(field.offset + 4 if field.location == "relative" else 0)
        return g.b.alu("add", g.ctx, g.b.alu("add", where, start))

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        if number >= len(self._fields):
            raise Unsupported(f"args[{number}]", Position(None, 1, 1))
        field = self._fields[number]
        value = self.argument(g, number)
        if isinstance(resolve(field.type), (Array, Struct)):
            return Remote(value, 0, False) if field.location else Memory(g.ctx, field.offset)
        base = resolve(type_)
        return g.b.extend(value, base.size, base.signed) if isinstance(base, Int) else value
