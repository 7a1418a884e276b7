"""What count, sum, avg, stddev, min and max have come to: numbers that can be computed with, compared and merged."""

from __future__ import annotations

import math
from numbers import Real

from sonde.model.aggregating import FUNCTIONS, number_of
from sonde.model.aggregation_words import Words, signed
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self


class Scalar:
    """One value of an aggregation. In arithmetic and comparisons it is its `number`; int() is what sonde prints.

    `words` are the 64-bit words behind it (`sonde.model.aggregating`), over all CPUs; `factor` is what normalize() set:
    the number is divided by it. `is_unsigned` tells of the numbers that it was given, where it matters.
    """

    __slots__ = ("factor", "is_unsigned", "words")
    function = ""

    def __init__(self, words: Words, factor: int = 1, is_unsigned: bool = False) -> None:
        self.words = words
        self.factor = factor
        self.is_unsigned = is_unsigned

    @property
    def number(self) -> int | float:
        """What arithmetic takes."""
        return int(self)

    def merge(self, other: Self) -> Self:
        """The value over what both have counted, as of two runs. Raises TypeError and ValueError where they do not
        belong together."""
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} cannot be merged with a {type(other).__name__}")
        if other.factor != self.factor:
            raise ValueError(f"values normalized by {self.factor} and by {other.factor} cannot be merged")
        if other.is_unsigned != self.is_unsigned:
            raise ValueError("values of signed and of unsigned numbers cannot be merged")
        return type(self)(FUNCTIONS[self.function].merging.add(self.words, other.words), self.factor, self.is_unsigned)

    def __int__(self) -> int:
        return number_of(self.function, self.words, self.factor, self.is_unsigned)

    def __float__(self) -> float:
        return float(self.number)

    def __bool__(self) -> bool:
        return bool(self.number)

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.number})"

    def __str__(self) -> str:
        return str(self.number)

    def __format__(self, form: str) -> str:
        return format(self.number, form)

    def __round__(self, digits: int | None = None) -> int | float:
        return round(self.number, digits)

    def __eq__(self, other: object) -> bool:
        return self.number == _number(other) if _is_number(other) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self.number < _number(other) if _is_number(other) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.number <= _number(other) if _is_number(other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.number > _number(other) if _is_number(other) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.number >= _number(other) if _is_number(other) else NotImplemented

    def __neg__(self) -> int | float:
        return -self.number

    def __pos__(self) -> int | float:
        return self.number

    def __abs__(self) -> int | float:
        return abs(self.number)

    def __add__(self, other: Any) -> Any:
        return self.number + _number(other) if _is_number(other) else NotImplemented

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return self.number * _number(other) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Any:
        return self.number - _number(other) if _is_number(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return _number(other) - self.number if _is_number(other) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self.number / _number(other) if _is_number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return _number(other) / self.number if _is_number(other) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        return self.number // _number(other) if _is_number(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _number(other) // self.number if _is_number(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return self.number % _number(other) if _is_number(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return _number(other) % self.number if _is_number(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return divmod(self.number, _number(other)) if _is_number(other) else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(_number(other), self.number) if _is_number(other) else NotImplemented

    def __pow__(self, other: Any) -> Any:
        return self.number ** _number(other) if _is_number(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return _number(other) ** self.number if _is_number(other) else NotImplemented


class Count(Scalar):
    """How often count() was called."""

    __slots__ = ()
    function = "count"

    def __index__(self) -> int:
        return int(self)


class Sum(Scalar):
    """The sum of what sum() was given, as a 64-bit number, which is signed unless all that it was given is not."""

    __slots__ = ()
    function = "sum"

    def __index__(self) -> int:
        return int(self)


class Minimum(Scalar):
    """The least that min() was given; 0 if it was given nothing."""

    __slots__ = ()
    function = "min"

    def __index__(self) -> int:
        return int(self)


class Maximum(Scalar):
    """The greatest that max() was given; 0 if it was given nothing."""

    __slots__ = ()
    function = "max"

    def __index__(self) -> int:
        return int(self)


class Average(Scalar):
    """The mean of what avg() was given, with its fraction, which what sonde prints has not."""

    __slots__ = ()
    function = "avg"

    @property
    def number(self) -> float:
        return self.total / self.count if self.count else 0.0

    @property
    def count(self) -> int:
        """How many values there were."""
        return self.words[0]

    @property
    def total(self) -> float:
        """Their sum."""
        return _divided(self.words[1] if self.is_unsigned else signed(self.words[1]), self.factor)


class Deviation(Scalar):
    """The standard deviation of what stddev() was given, with its fraction, which what sonde prints has not."""

    __slots__ = ()
    function = "stddev"

    @property
    def number(self) -> float:
        if not self.count:
            return 0.0
        total, squares = signed(self.words[1]), self.words[2] | self.words[3] << 64
        # In integers as long as possible: the difference of two squares may be far smaller than they are.
        return math.sqrt(max(squares * self.count - total * total, 0)) / self.count / abs(self.factor)

    @property
    def count(self) -> int:
        """How many values there were."""
        return self.words[0]

    @property
    def mean(self) -> float:
        """Their mean."""
        return _divided(signed(self.words[1]), self.factor) / self.count if self.count else 0.0


def _divided(total: int, factor: int) -> float:
    return total if factor == 1 else total / factor


def _is_number(other: object) -> bool:
    return isinstance(other, Scalar | Real)


def _number(other: Any) -> Any:
    return other.number if isinstance(other, Scalar) else other
