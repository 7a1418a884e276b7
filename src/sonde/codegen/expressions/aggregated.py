"""Elements of aggregations where programs look at them: what has been counted, over all CPUs, and their end."""

from __future__ import annotations

from collections.abc import Callable

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.kernels import require_totals
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import zero
from sonde.codegen.expressions.integers import divide
from sonde.codegen.expressions.layout import key_memory
from sonde.codegen.intermediate.ir import CallArgument, FunctionAddress, Imm, Operand, Reg, SlotAddress
from sonde.codegen.routines.totals import CPUS
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.program import Aggregation

_INT64_MAX = (1 << 63) - 1


def value(g: Generation, e: tree.Aggregated) -> Operand:
    """The number, signed unless the aggregation is of unsigned ones."""
    return value_of(g, e.aggregation, key(g, e), e.position)


def key(g: Generation, e: tree.Aggregated) -> Memory:
    """The key, in temporary memory; that of an aggregation without keys is the first index of an array."""
    fields, size = g.shared.keys[e.aggregation]
    if fields:
        return key_memory(g, e.keys, fields, size)
    index = g.temporary(8)
    g.b.store(index.base, index.offset, 8, Imm(0))
    return index


def value_of(g: Generation, a: Aggregation, at: Memory, position: Position) -> Operand:
    """What the element with the key at that memory comes to."""
    if a.function not in _NUMBERS:
        raise Unsupported(f"the value of {a.function}()", position)
    require_totals(g, position)
    total = g.framed(16)
    zero(g, total, 16)
    name, number = g.shared.aggregations[a]
    absent, end = g.b.label(), g.b.label()
    map_ = g.map_of(a, absent)
    environment = g.b.slot(24)
    shared: tuple[CallArgument, ...] = (g.argument_of(at.base, at.offset), g.address(total))
    for place, each in enumerate(shared):
        g.b.store(environment, 8 * place, 8, _pointer(g, each))
    if isinstance(map_, Reg):
        g.b.store(environment, 16, 8, map_)
    callback = f"total_{_SHAPES[a.function]}_{name if number is None else ''}"
    g.b.call(NUMBERS["loop"], Imm(CPUS), FunctionAddress(callback), SlotAddress(environment), Imm(0))
    g.b.release(environment)
    g.b.jump(end)
    g.b.place(absent)
    g.b.jump(end)
    g.b.place(end)
    return _NUMBERS[a.function](g, total, a.is_unsigned)


def _pointer(g: Generation, argument: CallArgument) -> Operand:
    if isinstance(argument, SlotAddress):
        return g.b.address(argument.slot, argument.offset)
    assert isinstance(argument, Reg)
    return argument


def _sum(g: Generation, total: Memory, is_unsigned: bool) -> Operand:
    return g.b.load(total.base, total.offset, 8)


def _avg(g: Generation, total: Memory, is_unsigned: bool) -> Operand:
    count = g.b.in_register(g.b.load(total.base, total.offset, 8))
    whole = g.b.load(total.base, total.offset + 8, 8)
    # Nothing has been counted: the sum is 0, too.
    divisor = g.b.choose("ne", count, Imm(0), lambda: count, lambda: Imm(1))
    return divide(g, "/", whole, divisor, not is_unsigned)


def _min(g: Generation, total: Memory, is_unsigned: bool) -> Operand:
    greatest = -1 if is_unsigned else _INT64_MAX
    return _extreme(g, total, lambda word: g.b.alu("sub", g.b.copy(Imm(greatest)), word))


def _max(g: Generation, total: Memory, is_unsigned: bool) -> Operand:
    return _extreme(g, total, lambda word: word if is_unsigned else g.b.alu("xor", word, Imm(-1 << 63)))


def _extreme(g: Generation, total: Memory, decoded: Callable[[Operand], Operand]) -> Operand:
    """0 where there has been no value."""
    count = g.b.in_register(g.b.load(total.base, total.offset, 8))
    word = g.b.in_register(g.b.load(total.base, total.offset + 8, 8))
    return g.b.choose("ne", count, Imm(0), lambda: decoded(word), lambda: Imm(0))


_NUMBERS: dict[str, Callable[[Generation, Memory, bool], Operand]] = {
    "count": _sum, "sum": _sum, "avg": _avg, "min": _min, "max": _max,
}  # fmt: skip
"""What the words of all CPUs come to, as `model/aggregating.py` has them."""

_SHAPES = {"count": "one", "sum": "one", "avg": "both", "min": "most", "max": "most"}
"""How the values of CPUs become one (`codegen/routines/totals.py`)."""
