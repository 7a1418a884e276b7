"""General probes: the caller's context has been converted, so arguments and all else stand in the probe's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from sonde.bpf import probe_context, programs
from sonde.codegen.basis.generation import Context, Generation
from sonde.codegen.basis.places import Place
from sonde.codegen.basis.ranges import by_index
from sonde.codegen.firings.cookies import numbered
from sonde.codegen.firings.plain import trusts_nothing
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.types import Type, is_signed, size_of
from sonde.typed import NamedTuple


class Way(NamedTuple):
    """Probes that are fired alike. Their first arguments are `converted`, so many; what the others are `own` says, to
    which the registers at the start of the context are its context."""

    own: Context
    converted: int


class GeneralContext:
    """The structure of `bpf/probe_context.py`; the cookie is the probe's index, by their ways."""

    kind = programs.PROBE
    attach_type = programs.ATTACH_NONE
    attach_to: str | None = None
    has_kernel_stack = False
    own_frames = 0
    is_trusted = trusts_nothing

    def __init__(self, ways: Sequence[Way]) -> None:
        """Those with more arguments converted come first."""
        self.probes = tuple(probe for way in ways for probe in way.own.probes)
        self.index = numbered(self.probes)
        self.is_user = any(way.own.is_user for way in ways)
        self._ways = ways

    def enter(self, g: Generation) -> Operand:
        if len(self.probes) == 1:
            return Imm(0)
        index = g.b.load(g.ctx, probe_context.COOKIE, 8, invariant=True)
        g.b.branch("ge", index, Imm(len(self.probes)), g.leave)
        return index

    def argument(self, g: Generation, number: int) -> Operand:
        if number >= probe_context.MAX_ARGUMENTS:
            return Imm(0)

        def converted() -> Operand:
            return g.b.load(g.ctx, probe_context.ARGUMENTS + 8 * number, 8, invariant=True)

        ends = list(accumulate(len(way.own.probes) for way in self._ways))
        alike = [end for end, way in zip(ends, self._ways, strict=True) if number < way.converted]
        others = [
            (end, partial(way.own.argument, g, number))
            for end, way in zip(ends, self._ways, strict=True)
            if number >= way.converted
        ]
        return by_index(g, [(alike[-1], converted), *others] if alike else others)

    def typed_argument(self, g: Generation, number: int, type_: Type) -> Operand | Place:
        return g.b.extend(self.argument(g, number), size_of(type_) or 8, is_signed(type_))

    def errno(self, g: Generation) -> Operand:
        return g.b.load(g.ctx, probe_context.ERRNO, 4, invariant=True)
