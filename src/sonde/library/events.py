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
    among the layout's actions."""

    statement: tuple[int, int]


def statement_names(names: Sequence[str], statement: tuple[int, int]) -> StatementNames:
    made = StatementNames(names)
    made.statement = statement
    return made


if TYPE_CHECKING:

    class Record:
        """The values that a statement has recorded: trace(), printf(), print(), tracemem().

        `record[0]` is the first of them, `record["arg0"]` that of the expression `arg0`. `time` is that of the firing
        in ns, as D's `timestamp` has it; `cpu` the CPU's number.
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

        def __eq__(self, other):
            return isinstance(other, Record) and tuple.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

        __hash__ = tuple.__hash__

        def __repr__(self):
            values = ", ".join(f"{name or place}={value!r}" for (place, value), name in
                               zip(enumerate(self.values), self.names, strict=True))  # fmt: skip
            return visible(f"Record({self.probe}, time={self.time}, cpu={self.cpu}, {values})")

        def __reduce__(self):
            return tuple.__new__, (Record, (self.probe, self.time, self.cpu, self.values, self.names))

        def asdict(self):
            return {name or str(place): value for (place, value), name in
                    zip(enumerate(self.values), self.names, strict=True)}  # fmt: skip


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
    """A clause was aborted, for a `reason`; `text` is the command's message."""

    probe: ProbeName
    reason: str
    text: str


class Message(NamedTuple):
    """What the command would say on standard error besides: remarks, refusals of actions."""

    text: str


class Exit(NamedTuple):
    """The last event: the argument of exit(), 0 without one."""

    status: int


Event: TypeAlias = "Record | Text | TableBatch | Aggregation | Loss | ProbeError | Message | Exit"
