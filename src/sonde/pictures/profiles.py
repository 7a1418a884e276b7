"""Aggregations keyed by stacks as profiles, which all formats and pictures of stacks are made from."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.consume.events import Value
from sonde.formats.profile import Profile, ProfileFrames
from sonde.model.aggregating import function_of, without_extent
from sonde.model.aggregation_words import Words
from sonde.model.records import AggregationSpec
from sonde.pictures.frames import STACKS, KeyFrames


def has_stack(spec: AggregationSpec) -> bool:
    """Whether stack() or ustack() is among the keys."""
    return any(field.kind in STACKS for field in spec.keys)


def profile_of(
    spec: AggregationSpec,
    values: Mapping[tuple[Value, ...], Words],
    frames: KeyFrames,
    time: int = 0,
    duration: int = 0,
) -> Profile:
    """The profile; its notes count the keys whose number is not positive, which take no room in a picture, and the
    stacks that may be cut off."""
    table = ProfileFrames()
    drawn = function_of(spec).drawn
    stacks: dict[tuple[int, ...], int] = {}
    left_out = 0
    cut: dict[int, int] = {}
    for key, words in values.items():
        number = drawn.number(without_extent(spec, words))
        if number <= 0:
            left_out += 1
            continue
        stack = tuple(map(table.number, frames.of(spec.keys, key)))
        stacks[stack] = stacks.get(stack, 0) + number
        if room := frames.cut_at(spec.keys, key):
            cut[room] = cut.get(room, 0) + 1
    title = "@" if spec.name in ("", "_") else f"@{spec.name}"
    notes = [f"{number:,} cut at {room} frame{'' if room == 1 else 's'}" for room, number in sorted(cut.items())]
    if left_out:
        notes.append(f"{left_out:,} left out, whose value is not above 0")
    return Profile(title, drawn.heading, drawn.unit, table.frames(), stacks, time, duration, tuple(notes))
