"""The aggregations of a run: mappings from keys to values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from sonde.consume.events import Contents, Table
from sonde.library import arrow_aggregations, arrow_extra, arrow_schema, rich_pictures, rich_text
from sonde.library.histograms import Histogram, LinearQuantize, LogLinearQuantize, Quantize
from sonde.library.scalars import Average, Count, Deviation, Maximum, Minimum, Scalar, Sum
from sonde.library.statement_values import plain_name
from sonde.library.values import Values
from sonde.model.aggregating import extent_of, merging_of, without_extent, zero_words
from sonde.model.aggregation_words import Words
from sonde.model.records import AggregationSpec, ArraySpec, TypeSpec
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from sonde.session.participants import Sight

Key = tuple[Any, ...]

VALUES: dict[str, type[Scalar] | type[Histogram]] = {
    each.function: each
    for each in (
        Count, Sum, Average, Deviation, Minimum, Maximum, Quantize, LinearQuantize, LogLinearQuantize,
    )
}  # fmt: skip
"""What each aggregating function comes to."""


def value_of(spec: AggregationSpec, words: Words, factor: int = 1) -> Scalar | Histogram:
    """What an aggregation has come to, by its words."""
    words = words or zero_words(spec)
    made, own = VALUES[spec.function], without_extent(spec, words)
    if issubclass(made, Histogram):
        return made(own, spec.parameters, factor, extent_of(spec, words))
    return made(own, factor, spec.is_unsigned)


def key_of(spec: AggregationSpec | ArraySpec, key: Key, values: Values) -> Key:
    """A decoded key as Python's values."""
    if not spec.key_types:
        return tuple(values.value(field, each) for field, each in zip(spec.keys, key, strict=True))
    parts = zip(spec.keys, spec.key_types, key, strict=True)
    return tuple(_hashable(values.typed(field, number, each)) for field, number, each in parts)


def _hashable(value: Any) -> Any:
    """A part of a key: of an array or a structure its values."""
    if isinstance(value, list | dict):
        return tuple(map(_hashable, value.values() if isinstance(value, dict) else value))
    return value


def elements_of(contents: Contents, values: Values, divisor: int = 1) -> dict[Key, Any]:
    """What an array that is kept has at its keys; numbers divided."""
    spec = contents.array
    found = {key_of(spec, key, values): values.element(spec, data) for key, data in contents.rows}
    return (
        found
        if divisor == 1
        else {key: value // divisor if isinstance(value, int) else value for key, value in found.items()}
    )


def rows_of(table: Table, values: Values) -> dict[Key, tuple[Scalar | Histogram | None, ...]]:
    """The rows that a printa shows, in their order."""
    first = table.aggregations[0]
    return {
        key_of(first, row.key, values): tuple(
            None if words is None else value_of(spec, words, factor)
            for spec, factor, words in zip(table.aggregations, table.factors, row.words, strict=True)
        )
        for row in table.rows
    }


Read: TypeAlias = "Callable[[], dict[Key, Any]]"


class NamedAggregations(dict[str, "LiveAggregation"]):
    """The aggregations of a run by their names; a name that none has is a KeyError that says which there are."""

    def __missing__(self, name: object) -> LiveAggregation:
        plain = name.removeprefix("@") or "_" if isinstance(name, str) else ""
        if plain in self:
            raise KeyError(f"aggregations are called without @: {plain!r}")
        there = f"there are {', '.join(map(repr, self))}" if self else "this program has none"
        raise KeyError(f"no aggregation is called {name!r}; {there}")


def live(spec: TracingSpec, sight: Sight, ask: Callable[[Read], Any], values: Values) -> NamedAggregations:
    """All aggregations of a run, and the arrays that are kept, by their names."""

    def reader(number: int, each: AggregationSpec) -> Read:
        def read() -> dict[Key, Any]:
            found, factor = sight.look(number)
            merged: dict[Key, Words] = {}
            add = merging_of(each).add
            for key, words in found.items():
                made = key_of(each, key, values)
                merged[made] = add(merged[made], words) if made in merged else words
            return {key: value_of(each, words, factor) for key, words in merged.items()}

        return read

    def array_reader(number: int, each: ArraySpec) -> Read:
        return lambda: elements_of(Contents(each, [*sight.elements(number)]), values)

    readers: list[tuple[AggregationSpec | ArraySpec, Read]] = [
        *((each, reader(number, each)) for number, each in enumerate(spec.aggregations)),
        *((each, array_reader(number, each)) for number, each in enumerate(spec.arrays)),
    ]
    return NamedAggregations({plain_name(each): LiveAggregation(each, read, ask, spec.types) for each, read in readers})


def _nothing(read: Read) -> Any:
    """There is nobody to ask."""


def _copy(spec: AggregationSpec | ArraySpec, kept: dict[Key, Any], types: Sequence[TypeSpec] = ()) -> LiveAggregation:
    """What was pickled: as it was then."""
    copied = LiveAggregation(spec, lambda: kept, _nothing, types)
    copied.keep()
    return copied


class LiveAggregation(Mapping[Key, Any]):
    """One aggregation of a run, or a map of bpftrace's language, as it is at the moment of each look; after the run as
    it was at its end.

    `title` says in words what it shows, where the program does. Keys are tuples, () of an aggregation without keys; one
    that is no tuple is taken for a tuple of one. Each look reads the whole map: for several of one moment take
    `snapshot()`.
    """

    def __init__(
        self, spec: AggregationSpec | ArraySpec, read: Read, ask: Callable[[Read], Any], types: Sequence[TypeSpec] = ()
    ) -> None:
        """`read` is for the run's own thread, which `ask` has call it. `types` are those of the program."""
        self._types = types
        self.name = plain_name(spec)
        self.function = "" if isinstance(spec, ArraySpec) else spec.function
        self.title = "" if isinstance(spec, ArraySpec) else spec.title
        self._spec = spec
        self._read: Read | None = read
        self._ask = ask
        self._kept: dict[Key, Any] | None = None

    def snapshot(self) -> dict[Key, Any]:
        """All of it at this moment."""
        return dict(self._look())

    def to_arrow(self) -> Any:
        """The same as a pyarrow.Table: the time, the parts of the key and the value. Raises Error where pyarrow is
        missing."""
        arrow_extra.require_arrow()

        return arrow_aggregations.rows_table(
            arrow_schema.map_schema(self._spec, self._types), self.snapshot(), time.time_ns()
        )

    def to_pandas(self) -> Any:
        """The same as a pandas.DataFrame."""
        return arrow_extra.frame_of(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same for any reader of Arrow's C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def spec(self) -> AggregationSpec | ArraySpec:
        """How it is kept."""
        return self._spec

    @property
    def heading(self) -> str:
        """What it shows in words, where the program says so, else its name as the program has it."""
        return self.title or f"@{'' if self.name == '_' else self.name}"

    @property
    def key_names(self) -> tuple[str, ...]:
        """What the source calls the parts of its keys."""
        names = self._spec.key_names or ("",) * len(self._spec.keys)
        return tuple(name or f"key{place}" for place, name in enumerate(names))

    def flame_graph(self) -> rich_pictures.FlameGraph:
        """The picture of its stacks, as they are now. Raises ValueError where there are none in its keys."""
        if isinstance(self._spec, ArraySpec):
            raise ValueError("a flame graph is made of an aggregation")
        return rich_pictures.FlameGraph(self._spec, self.snapshot())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """For notebooks: stacks as a flame graph, histograms as bars, all else as a table."""
        rows = self.snapshot()
        text = rich_text.aggregation_text(self.heading, rows)
        if isinstance(self._spec, AggregationSpec) and rich_pictures.has_stack(rows):
            return {"text/plain": text, "text/html": rich_pictures.FlameGraph(self._spec, rows).framed()}
        return {
            "text/plain": text,
            "text/html": rich_text.aggregation_html(self.heading, self.key_names, self.function, rows),
        }

    def keep(self) -> None:
        """Have it as it is now from here on. For the run's own thread."""
        if self._read is not None:
            self._kept = self._read()
        self.let_go()

    def let_go(self) -> None:
        """Have nothing more to do with the run: what it held in memory and descriptors is free, while this is kept."""
        self._read = None
        self._ask = _nothing

    def _look(self) -> dict[Key, Any]:
        read = self._read
        if self._kept is None and read is not None:
            try:
                found: dict[Key, Any] = self._ask(read)
                return found
            except RuntimeError:
                # The run has ended meanwhile, or has failed before there was anything.
                pass
        return self._kept or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _copy, (self._spec, self._look(), self._types)

    def __getitem__(self, key: Any) -> Any:
        return self._look()[key if isinstance(key, tuple) else (key,)]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._look())

    def __len__(self) -> int:
        return len(self._look())

    def __contains__(self, key: object) -> bool:
        return (key if isinstance(key, tuple) else (key,)) in self._look()

    def items(self) -> Any:
        """Of one moment."""
        return self._look().items()

    def values(self) -> Any:
        """Of one moment."""
        return self._look().values()

    def __repr__(self) -> str:
        return f"{self.function}@{self.name}: {self._look()!r}"
