"""What the programs write, for whoever reads it: the fields of records, keys and values, what is done with them, and
the types that they are shown as. Pure values, printable, comparable, picklable.
"""

from __future__ import annotations

from sonde.model.conversions import Conversion
from sonde.typed import NamedTuple, TypeAlias

FAULTS = {
    1: "invalid address",
    2: "invalid alignment",
    3: "illegal operation",
    4: "divide-by-zero",
    5: "out of scratch space",
    6: "invalid kernel access",
    7: "invalid user access",
    8: "tuple stack overflow",
    9: "bad stack",
    10: "invalid size",
    11: "index out of bounds",
    1000: "library-level fault",
    13: "more iterations than maxloop allows",
    14: "loops took longer than a second",
    15: "not in the recording",
}
"""DTRACEFLT_* codes, and three of ours, 13 to 15; any other is an unknown fault."""

UNRECORDED = 15
"""The fault that a replay reports in the place of another where the recording is what lacks something: ERROR clauses
see the other."""

FAULT_CLAUSE = 0
"""The clause number of the record that reports a fault: after the header u32 clause, u32 probe, i64 pc, u64 code, u64
value. Its own probe is ERROR."""

HEADER_SIZE = 16
"""Every record begins with u32 layout, u32 probe, u32 cpu, u32 speculation."""

PROBE_AT, CPU_AT, SPECULATION_AT = 4, 8, 12

LITERAL = "literal"

TYPED = " #"
REAL = "real"


class Field(NamedTuple):
    """One value in a record or an aggregation key, `size` bytes at `offset`.

    `kind` is
      `int`          an integer of that size, `signed` or not;
      `string`       characters up to the first NUL, zeros after it;
      `interned`     u32, an index into `TracingSpec.strings`;
      `long_string`  u32 offset from the record's start, u32 length: bytes behind the fixed part;
      `long_bytes`   the same, of bytes that may be zero;
      `bytes`        anything else, shown raw;
      `stack`        u64 kernel addresses, 0 after the last;
      `ustack`       u64 process (its id, in the upper half the vdso's page: docs/records.md), then u64 user
                     addresses, 0 after the last;
      `symbol`       u64 kernel address;     `user_symbol`  the same u64, u64 address;
      `named`        i64 number, which `detail` names a table for; `noted`  memory of a process as `model/readings.py`
                     says: `detail` is its form, bytes and number of elements.
    For the four before these `detail` says what is wanted: `sym`, `func`, `mod`, `usym`, `ufunc`, `umod`, `uaddr`, the
    string size of a ustack, or how many frames of a stack to show: the first ones of it may be the tracepoint's own.
    That of `bytes` that printf() shows begins with the name of their structure, if they are one; behind TYPED is the
    number of their type. That of a `string` is LITERAL where it can only be characters of the program's source, that of
    an `int` or `bytes` REAL where it has the bits of a floating-point number.
    """

    offset: int
    size: int
    kind: str
    signed: bool = False
    detail: str = ""


class TraceAction(NamedTuple):
    field: Field


class TracememAction(NamedTuple):
    """`dynamic` is a Field with the number of bytes to show, or None."""

    field: Field
    dynamic: Field | None = None


class PacketAction(NamedTuple):
    """A packet of a network: `time` in ns since 1970, its true `length`, how many of its bytes are in `data`, and the
    link type of its beginning (https://www.tcpdump.org/linktypes.html). `data` is `bytes`, or `long_bytes` that the
    kernel has appended to the record; `captured` is then a part of that field."""

    time: Field
    length: Field
    captured: Field
    link: Field
    data: Field


class CaptureAction(NamedTuple):
    """capture(): a packet whose bytes the kernel has appended to the record: `time` in ns since 1970 (8 bytes), the
    packet's true `length` (4 bytes), and `data`, a `long_bytes`, what was captured of it. The probe says which way it
    went, and where."""

    time: Field
    length: Field
    data: Field


class PrintfAction(NamedTuple):
    conversions: tuple[Conversion, ...]
    fields: tuple[Field, ...]


class PrintAction(NamedTuple):
    """A typed dump: `type` is an index into `TracingSpec.types`.

    `object` has the value's bytes, as many as were recorded, or its text if it is a string; `address` the address it
    was read from, None for a value that has none. `label` is the name of the variable that the value is shown as, if
    it is.
    """

    type: int
    object: Field
    address: Field | None = None
    label: str = ""


class PrintaAction(NamedTuple):
    """`aggregations` are indexes into `TracingSpec.aggregations`."""

    conversions: tuple[Conversion, ...] | None
    aggregations: tuple[int, ...]


class ShowAction(NamedTuple):
    """An aggregation, or an array that is kept, by its index in `TracingSpec.aggregations` or, `is_array`,
    `TracingSpec.arrays`. Of its rows only the last `top`, their values divided by `divisor`, where there are these."""

    number: int
    is_array: bool
    top: Field | None = None
    divisor: Field | None = None


class ExitAction(NamedTuple):
    field: Field


class ClearAction(NamedTuple):
    aggregation: int


class EmptyAction(NamedTuple):
    """All elements of an array that is kept, by its index in `TracingSpec.arrays`, are deleted or, with `keeps_keys`,
    become zero."""

    array: int
    keeps_keys: bool


class TruncAction(NamedTuple):
    """`keep` None removes all keys."""

    aggregation: int
    keep: Field | None


class NormalizeAction(NamedTuple):
    """`factor` None takes normalization back."""

    aggregation: int
    factor: Field | None


class SetOptionAction(NamedTuple):
    name: Field
    value: Field | None


class CommandAction(NamedTuple):
    """`system` or `freopen` with its formatted argument."""

    name: str
    conversions: tuple[Conversion, ...]
    fields: tuple[Field, ...]


class OtherAction(NamedTuple):
    """An action the consumer carries out by name: `commit` and `discard` (fields: the speculation, and how many
    records the programs have written with its number so far), `ftruncate` ..."""

    name: str
    fields: tuple[Field, ...]


Action: TypeAlias = (
    TraceAction | TracememAction | PrintfAction | PrintAction | PrintaAction | ShowAction | ExitAction | ClearAction
    | EmptyAction
    | PacketAction | CaptureAction | TruncAction | NormalizeAction | SetOptionAction | CommandAction | OtherAction
)  # fmt: skip


class RecordLayout(NamedTuple):
    """A record: `size` bytes of fixed part (header included) and what to do with it, in order.

    `number` is what its header begins with. `clause` is the clause that writes it: the two are the same for the first
    record of a clause, and the further ones, which a clause with branches has, are numbered behind the clauses. What
    records nothing writes no record and has no layout. `is_default` marks the empty clause, which only shows its
    header line. `names` are what the source calls the values before capture(), or, if wanted, all of them, "" where it
    does not say. `time`: u64, the firing's `timestamp`, where it is wanted of all records. `others` are probes of
    other descriptions of the clause, each with the clause's number there. `statements`: the numbers of the statements
    of RECORDING, in the order of the program from 1; a statement that is compiled several times has one number.
    """

    number: int
    size: int
    actions: tuple[Action, ...]
    is_default: bool = False
    clause: int = 0
    names: tuple[str, ...] = ()
    time: Field | None = None
    others: tuple[tuple[int, int], ...] = ()
    statements: tuple[int, ...] = ()


RECORDING = (TraceAction, TracememAction, PrintfAction, PrintAction, CaptureAction, PacketAction)
"""Actions that record values for whoever reads them."""


class AggregationSpec(NamedTuple):
    """How one aggregation is kept: map `map`, keys at the offsets of `keys`, `words` u64 words a value.

    Values start at zero and only grow, one instance per CPU, so that reading never loses a count; what the words are
    for each function is in `model/aggregating.py`.
    `replaceable`: the map is an element of an array of maps and may be replaced by an empty one as a whole.
    An aggregation without keys is an array of one element, which is there from the start. Where its words may all be
    zero though it has been used, one more stands behind them, which is then not zero. What `has_extent`, a histogram,
    ends in two words more, of its least and its greatest value. `key_types` are indexes into `TracingSpec.types`, where
    the keys' types are wanted, `key_names` the source texts of their parts, "" where it does not say, none where they
    are not wanted. `title` is what it shows, in words, "" where the program does not say.
    `is_unsigned`: it is of unsigned numbers, which tells for `sum`, `avg`, `min` and `max`.
    """

    name: str
    function: str
    parameters: tuple[int, ...]
    keys: tuple[Field, ...]
    key_size: int
    words: int
    map: str
    replaceable: bool
    key_types: tuple[int, ...] = ()
    key_names: tuple[str, ...] = ()
    title: str = ""
    is_unsigned: bool = False
    has_extent: bool = False


class ArraySpec(NamedTuple):
    """An associative array that is kept: map `map`, keys at the offsets of `keys`, a value at the start of the map's.
    `key_types` and `type` are indexes into `TracingSpec.types`; `key_names` as an aggregation's."""

    name: str
    keys: tuple[Field, ...]
    key_types: tuple[int, ...]
    key_size: int
    value: Field
    type: int
    map: str
    key_names: tuple[str, ...] = ()


class MemberSpec(NamedTuple):
    """A member of a structure or union: type by number, `offset` in bits; `bits` is 0 unless it is a bit-field.

    An anonymous structure or union has the name "".
    """

    name: str
    type: int
    offset: int
    bits: int = 0


class TypeSpec(NamedTuple):
    """A C type as print() shows it; `name` as C spells it, an anonymous one by its keyword alone.

    `kind` is
      `integer`   of that `size`, `signed` or not;
      `char`      a character;
      `float`     of that size (of 16 bytes the processor's own); `quad`, `bfloat` IEEE's of 16 and the short one of 2
                  bytes;
      `complex`   two of half the size;
      `enum`      whose `values` are (name, number) pairs;
      `pointer`   shown as an address: what it points to is not described, so no type contains itself;
      `string`    a D string;
      `array`     of `size` bytes, its elements of type number `element`;
      `struct`    a structure or union with its `members`;
      `opaque`    anything else, of which only the name is shown.
    """

    kind: str
    name: str
    size: int
    signed: bool = False
    element: int = 0
    values: tuple[tuple[str, int], ...] = ()
    members: tuple[MemberSpec, ...] = ()
