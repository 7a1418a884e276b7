"""What quantize, lquantize and llquantize have come to: counts of buckets, their percentiles, and their sums."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.library import rich_text
from sonde.model.aggregating import FUNCTIONS
from sonde.model.aggregation_words import MASK, Words, counts, signed
from sonde.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Self


class Bucket(NamedTuple):
    """Values from `low` to `high`, both among them, and how many there were; None where there is no bound."""

    low: int | None
    high: int | None
    count: int  # type: ignore[assignment]


class Histogram:
    """One value of a histogram: the counts of all buckets, over all CPUs.

    `parameters` are those of the aggregating function; `factor` is what normalize() set, by which the counts of
    `buckets` are divided. `extent` is the least and the greatest value that were counted, those before a clear() among
    them where the program has no trunc(); None if there were none, or in files of earlier versions. Histograms are
    equal whose counts are, whatever their extents.
    """

    __slots__ = ("extent", "factor", "parameters", "words")
    function = ""

    def __init__(
        self,
        words: Words,
        parameters: tuple[int, ...] = (),
        factor: int = 1,
        extent: tuple[int, int] | None = None,
    ) -> None:
        self.words = words
        self.parameters = parameters
        self.factor = factor
        self.extent = extent

    def bounds(self) -> Sequence[tuple[int | None, int | None]]:
        """The least and the greatest value of each bucket, ascending."""
        made = FUNCTIONS[self.function].buckets
        return [(low, high) for low, high, _ in made(*self.parameters)] if made is not None else []

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """From the first that is not empty to the last; () if all are."""
        found = counts(self.words, self.factor)
        used = [place for place, count in enumerate(found) if count]
        if not used:
            return ()
        bounds = self.bounds()
        return tuple(Bucket(*bounds[place], found[place]) for place in range(used[0], used[-1] + 1))

    @property
    def total(self) -> int:
        """How many values there were, or, with weights, their sum."""
        return sum(map(signed, self.words))

    def percentile(self, percent: float) -> float:
        """A value below which `percent` of the values lie, as if those of a bucket were spread evenly over as much of
        it as is in the `extent`: from the least value (0) to the greatest (100).

        Where there is no extent, it is the bound there is of a bucket without the other. It is an int where the float
        would be beyond the values. Raises ValueError for what is no percentage, or where there are no values, or some
        have been taken away (negative counts).
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"a percentage is from 0 to 100, not {percent}")
        found = [signed(word) for word in self.words]
        total = sum(found)
        if total <= 0 or min(found) < 0:
            raise ValueError("there is no percentile of no values, or of negative counts")
        *used, last = [
            (self._narrowed(low, high), count) for (low, high), count in zip(self.bounds(), found, strict=True) if count
        ]
        if percent == 100:
            return _within(*last[0], 1.0)
        wanted, before = total * percent / 100, 0
        for ends, count in used:
            if before + count >= wanted:
                return _within(*ends, (wanted - before) / count)
            before += count
        return _within(*last[0], (wanted - before) / last[1])

    def _narrowed(self, low: int | None, high: int | None) -> tuple[int, int]:
        """The ends of a bucket in which values can lie."""
        if self.extent is None:
            low = low if low is not None else high or 0
            return low, high if high is not None else low
        least, greatest = self.extent
        return (
            least if low is None else min(max(low, least), greatest),
            greatest if high is None else min(max(high, least), greatest),
        )

    def merge(self, other: Self) -> Self:
        """The histogram of what both have counted, as of two runs. Raises TypeError and ValueError where their buckets
        are not the same."""
        return self._combined(other, 1)

    def __add__(self, other: Any) -> Self:
        return self._combined(other, 1) if isinstance(other, Histogram) else NotImplemented

    def __sub__(self, other: Any) -> Self:
        """What came after an earlier value of the same histogram."""
        return self._combined(other, -1) if isinstance(other, Histogram) else NotImplemented

    def _combined(self, other: Histogram, sign: int) -> Self:
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} cannot be merged with a {type(other).__name__}")
        if (other.parameters, other.factor) != (self.parameters, self.factor):
            raise ValueError("histograms with other parameters or factors cannot be merged")
        words = tuple([(a + sign * b) & MASK for a, b in zip(self.words, other.words, strict=True)])
        return type(self)(words, self.parameters, self.factor, _joined(self, other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _repr_html_(self) -> str:
        """For notebooks: a bar for each bucket."""
        return rich_text.histogram_html(self)

    def _identity(self) -> tuple[object, ...]:
        return self.function, self.parameters, self.factor, self.words

    def __bool__(self) -> bool:
        return any(self.words)

    def __len__(self) -> int:
        return len(self.buckets)

    def __repr__(self) -> str:
        shown = ", ".join(f"{_range(each)}: {each.count}" for each in self.buckets if each.count)
        return f"{type(self).__name__}({shown})"


class Quantize(Histogram):
    """Powers of two: ... -2 to -3, -1, 0, 1, 2 to 3, 4 to 7 ..."""

    __slots__ = ()
    function = "quantize"


class LinearQuantize(Histogram):
    """Steps of the same width: below the first, each, from the end of the last."""

    __slots__ = ()
    function = "lquantize"


class LogLinearQuantize(Histogram):
    """Powers of a factor, each cut into steps of the same width, and their negatives."""

    __slots__ = ()
    function = "llquantize"


def _joined(one: Histogram, other: Histogram) -> tuple[int, int] | None:
    """The extent of the values of both; None where one has values whose extent is not known."""
    known = [each.extent for each in (one, other) if each.extent is not None]
    if not known or any(each.extent is None and each for each in (one, other)):
        return None
    return min(least for least, _ in known), max(greatest for _, greatest in known)


def _within(low: int, high: int, part: float) -> float:
    """The number at that part of the way, at its ends exactly: floats that are as large may be beyond."""
    found = low if part <= 0 else high if part >= 1 else min(max(low + (high - low) * part, low), high)
    return float(found) if float(found) == found else found


def _range(bucket: Bucket) -> str:
    if bucket.low == bucket.high:
        return f"{bucket.low}"
    low = "" if bucket.low is None else bucket.low
    high = "" if bucket.high is None else bucket.high
    return f"{low}..{high}"
