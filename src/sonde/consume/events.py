"""What the consumer tells a sink: pure values."""

from __future__ import annotations

from sonde.model.probe import Probe
from sonde.model.records import AggregationSpec, ArraySpec, RecordLayout
from sonde.typed import NamedTuple, TypeAlias

Value: TypeAlias = "int | bytes | tuple[int, int]"
"""A decoded field: an integer, the characters of a string or raw bytes, a stack as in `stacks`, (process, address) of a
user symbol."""


class Record(NamedTuple):
    """One record of a clause that does more than show data.

    `data` is the record as it stood in the ring, behind its 8-byte header; it is only valid during the call that hands
    it over.
    """

    layout: RecordLayout
    probe: Probe
    cpu: int
    data: memoryview


class TableRow(NamedTuple):
    """One key of an aggregation, or of several joined on equal keys: the words of each, None where it has no such key.

    `words` are unsigned 64-bit, merged over all CPUs. With option aggpercpu `cpus` has for each aggregation the words
    of each CPU alone.
    """

    key: tuple[Value, ...]
    words: tuple[tuple[int, ...] | None, ...]
    cpus: tuple[tuple[tuple[int, ...], ...], ...] = ()


class Table(NamedTuple):
    """What printa shows: sorted rows of the aggregations, and the factor by which each is normalized."""

    aggregations: tuple[AggregationSpec, ...]
    factors: tuple[int, ...]
    rows: list[TableRow]


class Contents(NamedTuple):
    """What an array that is kept has: its keys, and the bytes of their elements."""

    array: ArraySpec
    rows: list[tuple[tuple[Value, ...], bytes]]


class ShownMap(NamedTuple):
    """An aggregation, or an array that is kept, as the program has it shown: only the last `top` rows, their values
    divided by `divisor`, where these are not None."""

    of: Table | Contents
    top: int | None = None
    divisor: int | None = None


class Fault(NamedTuple):
    """A clause that was aborted: at BPF instruction `pc` (negative: not known), fault `code` of `records.FAULTS`."""

    clause: int
    probe: Probe
    pc: int
    code: int
    value: int


class Drop(NamedTuple):
    """That many things were `lost`; `counter` is one of `named_maps.COUNTERS`, or `samples`, `ticks` or
    `switches` of perf events, or `mappings` of processes, or `commands` and `tables` that
    were not run or shown when tracing had ended. `cpu` is None for what is counted over all."""

    counter: str
    cpu: int | None
    lost: int
