"""Values that differ between the probes of one program: chosen by the index of the one that has fired."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm, Operand


def by_index(g: Generation, ranges: Sequence[tuple[int, Callable[[], Operand]]]) -> Operand:
    """The value of the range in which the index is, that of the last behind them all. Each range has its end, where the
    next one begins, and makes the code for its value."""
    (end, value), *others = ranges
    if not others:
        return value()
    if isinstance(g.probe_index, Imm):
        return value() if g.probe_index.value < end else by_index(g, others)
    return g.b.choose("lt", g.probe_index, Imm(end), value, lambda: by_index(g, others))
