"""What data for other programs says of a statement: its number, its words, and what its values are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.library.values import Values
from sonde.model.conversions import Conversion
from sonde.model.records import RECORDING, Action, AggregationSpec, ArraySpec, PrintfAction, RecordLayout
from sonde.typed import NamedTuple
from sonde.visible import unicode_text


class RecordedStatement(NamedTuple):
    """A statement that records: its place among the actions of its layout, its number in the program (0: not known),
    what the source calls its values, and its `text`, None where it has no words."""

    place: int
    action: Action
    number: int
    names: tuple[str, ...]
    text: str | None


def recorded_statements(layout: RecordLayout, values: Values) -> Iterator[RecordedStatement]:
    """The statements of a layout that record, in order."""
    called, numbers = iter(layout.names), iter(layout.statements)
    for place, action in enumerate(layout.actions):
        if isinstance(action, RECORDING):
            names = values.names(action, called)
            yield RecordedStatement(place, action, next(numbers, 0), names, words(action, names))


def distinct(names: Sequence[str]) -> list[str]:
    """Names for an object's members: the place where there is none, and behind a name that was there before."""
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        wanted = name or str(place)
        while wanted in found:
            wanted += f"#{place}"
        found[wanted] = place
    return [*found]


def words(action: Action, names: Sequence[str]) -> str | None:
    """The constant text of a printf(), with the names of its values in braces where these stand. None for other
    actions, and where values have nothing but space between them."""
    if not isinstance(action, PrintfAction):
        return None
    if action.fields and not any(each.text.strip() for each in action.conversions):
        return None
    called = iter(distinct(names))
    return unicode_text("".join(each.text + _shown(each, called) for each in action.conversions))


def _shown(conversion: Conversion, called: Iterator[str]) -> str:
    """The value of a conversion, which takes those of its width and precision first."""
    for each in (conversion.width, conversion.precision):
        if each == "*":
            next(called, "")
    return f"{{{next(called, '')}}}" if conversion.letters and conversion.letters != "%" else ""


def plain_name(spec: AggregationSpec | ArraySpec) -> str:
    """The name of an aggregation or array, without the `@` that is a part of some, `_` of one without a name."""
    return spec.name.removeprefix("@") or "_"
