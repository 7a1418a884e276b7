"""What data for other programs calls the values of a statement, and the text that may stand in it."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.records import Action, AggregationSpec, ArraySpec, PrintfAction


def distinct(names: Sequence[str]) -> list[str]:
    """Names for an object's members: the place where there is none, and behind a name that was there before."""
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        wanted = name or str(place)
        while wanted in found:
            wanted += f"#{place}"
        found[wanted] = place
    return [*found]


def constant_text(action: Action) -> str | None:
    """The text of a printf() that has no values."""
    if not isinstance(action, PrintfAction) or action.fields:
        return None
    return "".join(each.text for each in action.conversions)


def plain_name(spec: AggregationSpec | ArraySpec) -> str:
    """The name of an aggregation or array, without the `@` that is a part of some, `_` of one without a name."""
    return spec.name.removeprefix("@") or "_"
