"""How much memory the events of one record may take at most, by its layout: so that as many are made at once as fit."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.library.record_reader import fields_of
from sonde.model.records import Field, PrintAction, RecordLayout, TypeSpec

_EVENT, _VALUE, _FRAME = 200, 100, 400
"""Bytes of an event, of a value and of a frame of a stack without their characters."""
_CHARACTER = 4
"""Bytes of a character of a str."""


def cost_of(layout: RecordLayout, stride: int, types: Sequence[TypeSpec]) -> int:
    """Bytes for a record of `stride` bytes."""
    cost = 0
    for action in layout.actions:
        fields = fields_of(action)
        cost += _EVENT if fields else 0
        cost += sum(_cost_of_field(field, stride) for field in fields)
        if isinstance(action, PrintAction):
            cost += _VALUE * _parts_of(types, action.type)
    return max(cost, 1)


def _cost_of_field(field: Field, stride: int) -> int:
    match field.kind:
        case "stack" | "ustack":
            return _VALUE + _FRAME * (field.size // 8)
        case "long_string" | "long_bytes":
            return _VALUE + _CHARACTER * stride
        case "int" | "interned" | "symbol" | "user_symbol":
            return _VALUE
        case _:
            return _VALUE + _CHARACTER * field.size


def _parts_of(types: Sequence[TypeSpec], number: int) -> int:
    """How many values an object of that type has in it. Each type stands behind those that it consists of."""
    parts: list[int] = []
    for each in types[: number + 1]:
        if each.kind == "array":
            count = each.size // (types[each.element].size or 1)
            parts.append(1 + count * parts[each.element])
        else:
            parts.append(1 + sum(parts[member.type] for member in each.members))
    return parts[number]
