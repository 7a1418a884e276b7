"""What a run gives, one after the other: records, texts, aggregations, and what is to be known of the run itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sonde.typed import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from sonde.visible import visible

if TYPE_CHECKING:
    from sonde.library.histograms import Histogram
    from sonde.library.scalars import Scalar


class ProbeName(NamedTuple):
    """The four parts of a probe's name."""

    provider: str
    module: str
    function: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.module}:{self.function}:{self.name}"


class StatementNames(tuple[str, ...]):
    """What the source calls the values of a statement, which is `statement`: the number of its layout, and its place
    among the layout's actions; `number` and `text` are those of its records."""

    statement: tuple[int, int]
    number: int
    text: str | None


def statement_names(
    names: Sequence[str], statement: tuple[int, int], number: int = 0, text: str | None = None
) -> StatementNames:
    made = StatementNames(names)
    made.statement, made.number, made.text = statement, number, text
    return made


if TYPE_CHECKING:

    class Record:
        """The values that a statement has recorded: trace(), printf(), print(), tracemem().

        `record[0]` is the first of them, `record["arg0"]` that of the expression `arg0`. `time` is that of the firing
        in ns, as D's `timestamp` has it; `cpu` the CPU's number. `statement` is the number of the statement, counted in
        the program from 1, and `text` what it says between its values, which stand there by their names in braces; None
        where it says nothing. A statement without values has its words for one. Records are equal where they are of one
        statement, too.
        """

        @property
        def probe(self) -> ProbeName: ...
        @property
        def time(self) -> int: ...
        @property
        def cpu(self) -> int: ...
        @property
        def values(self) -> tuple[Any, ...]: ...
        @property
        def names(self) -> StatementNames:
            """The source texts of the values' expressions, "" where there is none."""

        @property
        def statement(self) -> int: ...
        @property
        def text(self) -> str | None: ...
        def __getitem__(self, which: int | str) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...
        def __contains__(self, value: object) -> bool: ...
        def asdict(self) -> dict[str, Any]:
            """The values by their names; those without one by their place."""

else:
    from _collections import _tuplegetter

    class Record(tuple):
        """See above. A tuple, as millions are made: (probe, time, cpu, values, names)."""

        __slots__ = ()
        probe, time, cpu, values, names = (_tuplegetter(place, None) for place in range(5))

        def __getitem__(self, which):
            if isinstance(which, str):
                try:
                    return self.values[self.names.index(which)]
                except ValueError:
                    raise KeyError(f"no value is called {which!r}, but {', '.join(self.names)}") from None
            return self.values[which]

        def __iter__(self):
            return iter(self.values)

        def __len__(self):
            return len(self.values)

        def __contains__(self, value):
            return value in self.values

        @property
        def statement(self):
            return self.names.number

        @property
        def text(self):
            return self.names.text

        def __eq__(self, other):
            return (
                isinstance(other, Record) and tuple.__eq__(self, other)
                and (self.statement, self.text) == (other.statement, other.text)
            )  # fmt: skip

        def __ne__(self, other):
            return not self == other

        __hash__ = tuple.__hash__

        def __repr__(self):
            values = ", ".join(f"{name or place}={value!r}" for (place, value), name in
                               zip(enumerate(self.values), self.names, strict=True))  # fmt: skip
            text = "" if self.text is None else f", text={self.text!r}"
            values = values and f", {values}"
            return visible(f"Record({self.probe}, time={self.time}, cpu={self.cpu}{values}{text})")

        def __reduce__(self):
            return tuple.__new__, (Record, (self.probe, self.time, self.cpu, self.values, self.names))

        def asdict(self):
            return {name or str(place): value for (place, value), name in
                    zip(enumerate(self.values), self.names, strict=True)}  # fmt: skip


class RingRecord(NamedTuple):
    """A record that a program of a BPF object has written to `ring`: its `value` an `Object`, or bytes where its type
    is not known. `time` is in ns since 1970 of arrays of perf events, None of ring buffers; `packet` what the kernel
    has appended."""

    ring: str
    time: int | None
    value: Any
    packet: Any = None


class Text(NamedTuple):
    """Some of the text that the command would print, where a run was asked for it: whole lines as a rule."""

    text: bytes


class TableBatch(NamedTuple):
    """Some of what a run that was asked for tables has recorded, as a pyarrow.Table: of its records and other events,
    or, called as an aggregation, what printa() shows or what is left at the end."""

    name: str | None
    table: Any


class Aggregation(NamedTuple):
    """What printa() shows, or what is left at the end: `names` of the aggregations, and for each key, in the order in
    which it is printed, the value of each of them, None where one has no such key."""

    names: tuple[str, ...]
    rows: Mapping[tuple[Any, ...], tuple[Scalar | Histogram | None, ...]]


class Loss(NamedTuple):
    """That `lost` things were lost of a `kind`: `records`, `aggregations`, `dynamic` variables, `samples` ... `text`
    is the command's message."""

    kind: str
    lost: int
    cpu: int | None
    text: str


class ProbeError(NamedTuple):
    """A clause was aborted, for a `reason`; `text` is the command's message. Of a probe in Python `file`, `line` and
    `function` say where; of others they are "" and 0."""

    probe: ProbeName
    reason: str
    text: str
    file: str = ""
    line: int = 0
    function: str = ""


class Message(NamedTuple):
    """What the command would say on standard error besides: remarks, refusals of actions."""

    text: str


class Exit(NamedTuple):
    """The last event: the argument of exit(), 0 without one."""

    status: int


Event: TypeAlias = "Record | RingRecord | Text | TableBatch | Aggregation | Loss | ProbeError | Message | Exit"
