"""What a conversion of a format takes: kinds of values, checked where the format is compiled.

The checker of each language sees to it for programs; a file may say anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from sonde.formats import damage
from sonde.report.piece import ConversionArgument


def numeric(argument: ConversionArgument, *others: str) -> ConversionArgument:
    """An argument whose value is an integer, or of another of these kinds. Raises DamagedError."""
    if argument.kind not in ("int", "number", "symbol", *others):
        raise _damaged(f"a format takes a value of kind {argument.kind!r} for a number")
    return argument


def of_kind(argument: ConversionArgument, *kinds: str, sizes: Container[int] | None = None) -> ConversionArgument:
    """An argument of one of these kinds, and of one of these sizes, in bytes. Raises DamagedError."""
    if argument.kind not in kinds or (sizes is not None and argument.size not in sizes):
        raise _damaged(f"a format takes a value of kind {argument.kind!r} for a {kinds[0]}")
    return argument


def next_of(arguments: Iterator[ConversionArgument]) -> ConversionArgument:
    """The next argument. Raises DamagedError where there is none."""
    for argument in arguments:
        return argument
    raise _damaged("a format takes more values than there are")


def require_as_many(wanted: Iterable[object], there: Iterable[object]) -> None:
    """Raise DamagedError where a format has another number of conversions than of values."""
    if len([*wanted]) != len([*there]):
        raise _damaged("a format takes another number of values than there are")


def _damaged(text: str) -> Exception:
    return damage.DamagedError(f"it is damaged: {text}")
