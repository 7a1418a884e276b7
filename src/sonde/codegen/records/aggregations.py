"""Aggregating functions: find the key's value, or make it, and add to it atomically.

Values begin at zero and only grow (`model/aggregating.py`), one instance for each CPU, so nothing is lost to a nested
firing or to a reader. The smallest value is kept as its distance from the greatest number there is, for that reason.
"""

from __future__ import annotations

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions.layout import key_memory
from sonde.codegen.intermediate.ir import Imm, Operand, Reg
from sonde.codegen.records.aggregation_maps import element_words, has_extent, has_mark, words
from sonde.codegen.routines import extremes
from sonde.model import program as tree
from sonde.model.aggregating import EXTENT_WORDS
from sonde.model.program import Aggregation

_INT64_MAX = (1 << 63) - 1


def aggregate(g: Generation, s: tree.Aggregate) -> None:
    """One aggregation statement: the value first, then its place, then the update."""
    value = g.value(s.value) if s.value is not None else Imm(1)
    increment = g.value(s.increment) if s.increment is not None else Imm(1)
    if g.shared.settings.records and s.aggregation not in g.shared.looked_at:
        _read_key(g, s)
        return
    lost, end = g.b.label(), g.b.label()
    instance = _instance(g, s, lost)
    keys = len(g.shared.keys[s.aggregation][0])
    if has_extent(s.aggregation):
        _widen(g, instance, 8 * (element_words(s.aggregation, keys) - EXTENT_WORDS), value, increment)
    UPDATES[s.aggregation.function](g, s.aggregation, instance, value, increment)
    if has_mark(s.aggregation, keys):
        g.b.store(instance, 8 * words(s.aggregation), 8, Imm(1))
    g.b.jump(end)
    g.b.place(lost)
    g.count("aggregations")
    g.b.place(end)


def _read_key(g: Generation, s: tree.Aggregate) -> None:
    """What the key reads, where nothing is counted."""
    fields, size = g.shared.keys[s.aggregation]
    if fields:
        key_memory(g, s.keys, fields, size)


def _instance(g: Generation, s: tree.Aggregate, lost: int) -> Reg:
    """The address of this CPU's value for the key; goes to `lost` where the map is full."""
    fields, size = g.shared.keys[s.aggregation]
    if not fields:
        index = g.temporary(8)
        g.b.store(index.base, index.offset, 8, Imm(0))
        key = g.argument_of(index.base, index.offset)
    else:
        memory = key_memory(g, s.keys, fields, size)
        key = g.argument_of(memory.base, memory.offset)
    map_ = g.map_of(s.aggregation, lost)
    result = g.b.register()
    found, absent = g.b.label(), g.b.label()
    g.b.move(result, g.call("map_lookup_elem", map_, key))
    g.b.branch("ne", result, Imm(0), found, absent if fields else lost)
    if fields:
        g.b.place(absent)
        zeros = g.b.map_value(g.shared.maps.zeros(8 * element_words(s.aggregation, len(fields))))
        g.call("map_update_elem", map_, key, zeros, Imm(kinds.NOEXIST))
        g.b.move(result, g.call("map_lookup_elem", map_, key))
        g.b.branch("eq", result, Imm(0), lost, found)
    g.b.place(found)
    return result


def _widen(g: Generation, at: Reg, offset: int, value: Operand, increment: Operand) -> None:
    """Have the extent of a histogram include the value, unless that is not counted. Most values change nothing.

    This is done before the value is counted: who copies the element from its beginning to its end and finds the count
    finds the extent, too.
    """
    wider, end = g.b.label(), g.b.label()
    g.b.branch("eq", g.b.unlinked(increment), Imm(0), end)
    greatest = g.b.in_register(g.b.alu("xor", value, Imm(-1 << 63)))
    g.b.branch("lt", g.b.load(at, offset + 8, 8), greatest, wider)
    least = g.b.in_register(g.b.alu("xor", greatest, Imm(-1)))
    g.b.branch("ge", g.b.load(at, offset, 8), least, end, wider)
    g.b.place(wider)
    g.routine("widen", g.b.in_register(g.b.alu("add", at, Imm(offset))), greatest)
    g.b.place(end)


def _count(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    g.b.atomic_add(at, 0, Imm(1))


def _sum(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    g.b.atomic_add(at, 0, value)


def _avg(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    g.b.atomic_add(at, 0, Imm(1))
    g.b.atomic_add(at, 8, value)


def _min(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    greatest = g.b.copy(Imm(-1 if a.is_unsigned else _INT64_MAX))
    _raise_to(g, at, g.b.alu("sub", greatest, value))


def _max(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    _raise_to(g, at, value if a.is_unsigned else g.b.alu("xor", value, Imm(-1 << 63)))


def _raise_to(g: Generation, at: Reg, encoded: Operand) -> None:
    """Make the second word at least `encoded` (unsigned), and count."""
    extremes.raise_to(g.b, at, 8, g.b.in_register(encoded))
    g.b.atomic_add(at, 0, Imm(1))


def _stddev(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    """The square takes 128 bits: 32-bit halves, multiplied by hand; a carry is what wraps the low word."""
    _avg(g, a, at, value, increment)
    sign = g.b.alu("arsh", value, Imm(63))
    size = g.b.alu("sub", g.b.alu("xor", value, sign), sign)
    high, low = g.b.alu("rsh", size, Imm(32)), g.b.extend(size, 4, False)
    cross = g.b.alu("mul", high, low)
    low_square = g.b.alu("mul", low, low)
    middle = g.b.alu("lsh", cross, Imm(33))
    low_word = g.b.alu("add", low_square, middle)
    carry = g.b.truth("lt", low_word, middle)
    high_word = g.b.alu("add", g.b.alu("add", g.b.alu("mul", high, high), g.b.alu("rsh", cross, Imm(31))), carry)
    before = g.b.fetch_add(at, 16, low_word)
    carried = g.b.truth("lt", g.b.alu("add", before, low_word), low_word)
    g.b.atomic_add(at, 24, g.b.alu("add", high_word, carried))


def _quantize(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    name = "_".join(("quantize_bucket", *map(str, a.parameters)))
    _add_to_bucket(g, a, at, g.routine(name, g.b.in_register(value)), increment)


def _lquantize(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    base, _, step = a.parameters
    levels = words(a) - 2
    value = g.b.unlinked(value)

    def inside() -> Operand:
        distance = g.b.alu("sub", value, g.b.in_register(Imm(base)))
        return g.b.alu("add", g.b.alu("div", distance, Imm(step)), Imm(1))

    def above_base() -> Operand:
        top = g.b.in_register(Imm(base + levels * step))
        return g.b.choose("sge", value, top, lambda: Imm(levels + 1), inside)

    bucket = g.b.choose("slt", value, g.b.in_register(Imm(base)), lambda: Imm(0), above_base)
    _add_to_bucket(g, a, at, bucket, increment)


def _llquantize(g: Generation, a: Aggregation, at: Reg, value: Operand, increment: Operand) -> None:
    name = "llquantize_" + "_".join(str(p) for p in a.parameters)
    _add_to_bucket(g, a, at, g.routine(name, g.b.in_register(value)), increment)


def _add_to_bucket(g: Generation, a: Aggregation, at: Reg, bucket: Reg, increment: Operand) -> None:
    """The bound, which always holds, is for the verifier."""
    end = g.b.label()
    g.b.branch("ge", bucket, Imm(words(a)), end)
    word = g.b.in_register(g.b.alu("add", at, g.b.alu("lsh", bucket, Imm(3))))
    g.b.atomic_add(word, 0, increment)
    g.b.place(end)


UPDATES = {
    "count": _count, "sum": _sum, "avg": _avg, "min": _min, "max": _max, "stddev": _stddev,
    "quantize": _quantize, "lquantize": _lquantize, "llquantize": _llquantize,
}  # fmt: skip
"""The code of each function: it adds a value, or an increment to the value's bucket, to the words at an address."""
