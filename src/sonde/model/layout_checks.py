"""Descriptions of records, aggregations, arrays and types, checked as files have them.

What shows records generates code of their descriptions, and takes for granted that each value is of a kind that its
action can use: a file is refused where that is not so. What a format's conversions take depends on the language, and is
checked where the format is compiled (`report/kinds.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sonde.formats.damage import DamagedError
from sonde.model.aggregating import FUNCTIONS
from sonde.model.conversions import MOST_COLUMNS, Conversion
from sonde.model.records import (
    RECORDING,
    TYPED,
    Action,
    AggregationSpec,
    ArraySpec,
    CaptureAction,
    ClearAction,
    CommandAction,
    EmptyAction,
    ExitAction,
    Field,
    NormalizeAction,
    OtherAction,
    PacketAction,
    PrintaAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    SetOptionAction,
    ShowAction,
    TraceAction,
    TracememAction,
    TruncAction,
    TypeSpec,
)
from sonde.model.spec import TracingSpec
from sonde.typed import NoReturn

TEXTS = frozenset(("string", "interned", "long_string"))
"""Kinds of fields whose values are characters."""

BYTES = TEXTS | {"bytes", "long_bytes", "named", "noted", "stack", "ustack"}
"""Kinds of fields whose values are bytes."""

_KINDS = BYTES | {"int", "symbol", "user_symbol"}
_FLAGS = frozenset("#0-+ ',?@")
_FRAMES = re.compile("[0-9]{0,4}")
"""Nothing that a file says may get into the source of a formatter but numbers and what is quoted there."""
_TYPE_NUMBER = re.compile("[0-9]{1,6}")
_MOST_FIELDS = 1 << 14
"""Values in a record: a program of a million instructions, which is the most, records fewer."""
_SIZES = {"interned": (4, 8), "symbol": (8,), "user_symbol": (16,), "named": (8,), "long_string": (8,),
          "long_bytes": (8,)}  # fmt: skip
"""Bytes of fields, for kinds that have but these."""
_INTEGERS = (1, 2, 4, 8)
_MOST_BITS = 128
"""Of a bit-field: C's largest integer."""
_TYPE_KINDS = frozenset(("integer", "char", "float", "complex", "quad", "bfloat", "enum", "pointer", "string", "array",
                         "struct", "opaque"))  # fmt: skip
_REALS = {"float": (2, 4, 8, 10, 12, 16), "complex": (4, 8, 16, 20, 24, 32), "quad": (16,), "bfloat": (2,)}
"""Bytes of floating-point numbers."""
_LINE_INFO = 16
"""Bytes of struct bpf_line_info (include/uapi/linux/bpf.h)."""
_CLOSING = ("commit", "discard")


def check_layouts(spec: TracingSpec) -> None:
    """That records, keys, elements and types can be read and shown as they are described. Raises DamagedError."""
    _check_types(spec.types)
    for each in spec.aggregations:
        _check_values(each)
        _check_keys(each, spec)
    for array in spec.arrays:
        _check_keys(array, spec)
        _check_fields((array.value,), array.value.offset + array.value.size, spec)
        _require(array.value.offset == 0 and 0 <= array.type < len(spec.types), f"array {array.name} has no type")
        _require(array.value.kind in ("int", "bytes", "string"), f"array {array.name} has no value")
        _require(array.value.kind != "int" or array.value.size <= 16, f"array {array.name} has no value")
        _require(array.value.size >= _least(spec.types[array.type]), f"array {array.name} has another type")
    for program in spec.programs:
        _require(len(program.line_info) % _LINE_INFO == 0, f"program {program.name} has no places in its text")
    numbers = [layout.number for layout in spec.records]
    _require(len(set(numbers)) == len(numbers), "two records have the same number")
    for layout in spec.records:
        _check_record(layout, spec)
    for shown in spec.shown:
        _check_action(shown, 0, spec)


def _check_record(layout: RecordLayout, spec: TracingSpec) -> None:
    fields = sum(len(getattr(action, "fields", "1")) for action in layout.actions)
    _require(fields <= _MOST_FIELDS, "a record has more values than any program records")
    if layout.time is not None:
        _check_fields((layout.time,), layout.size, spec)
        _require(_is_number(layout.time), "a record has a time that is no number")
    for action in layout.actions:
        _check_action(action, layout.size, spec)
    count = sum(isinstance(action, RECORDING) for action in layout.actions)
    _require(len(layout.statements) in (0, count), "a record has another number of statements than it says")
    _require(all(0 < number < 1 << 32 for number in layout.statements), "a statement of a record has no number")


# Types


def _check_types(types: Sequence[TypeSpec]) -> None:
    for number, each in enumerate(types):
        # Each stands behind those it consists of, so that none contains itself.
        parts = [each.element] if each.kind == "array" else [member.type for member in each.members]
        _require(all(0 <= part < number for part in parts), f"type {each.name} consists of none that is known")
        _require(each.kind in _TYPE_KINDS and each.size >= 0, f"type {each.name} is of no known kind")
        _require(each.size in _REALS.get(each.kind, (each.size,)), f"type {each.name} has an unknown size")
        is_number = each.kind in ("integer", "char", "enum", "pointer")
        _require(not is_number or each.size <= 16, f"type {each.name} has an unknown size")
        for member in each.members:
            size = member.bits or 8 * _least(types[member.type])
            inside = member.offset >= 0 and member.offset + size <= 8 * each.size
            _require(0 <= member.bits <= _MOST_BITS and inside, f"type {each.name} is smaller than its members")
            is_field = types[member.type].kind in ("integer", "char", "enum", "pointer")
            _require(not member.bits or is_field, f"type {each.name} has a bit-field that is no number")


def _least(described: TypeSpec) -> int:
    """How many bytes of an object must be there: all of what is read as one number."""
    return described.size if described.kind in ("integer", "char", "enum", "pointer", *_REALS) else 0


# Aggregations and arrays


def _check_values(aggregation: AggregationSpec) -> None:
    """That its values are those of its function, whose parameters are in the bounds that the language sets."""
    function, parameters = FUNCTIONS.get(aggregation.function), aggregation.parameters
    if function is None:
        _damaged(f"an aggregation has the unknown function {aggregation.function!r}")
    _require(function.has_parameters(parameters), f"{function.name} has other parameters")
    has_others = aggregation.has_extent and function.buckets is None
    is_whole = aggregation.words == function.size(*parameters) and not has_others
    _require(is_whole, f"aggregation @{aggregation.name} has other values")


def _check_keys(of: AggregationSpec | ArraySpec, spec: TracingSpec) -> None:
    _check_fields(of.keys, of.key_size, spec)
    sizes = [field.size for field in of.keys if field.kind == "int"]
    _require(all(size in _INTEGERS for size in sizes), "a key is an integer of no known size")
    _require(not any(field.kind.startswith("long_") for field in of.keys), "a key is longer than its map has it")
    numbers = of.key_types
    _require(not numbers or len(numbers) == len(of.keys), f"the keys of @{of.name} have other types")
    for field, number in zip(of.keys, numbers, strict=False):
        _require(0 <= number < len(spec.types), f"a key of @{of.name} has no type")
        _require(field.kind != "bytes" or field.size >= _least(spec.types[number]), f"a key of @{of.name} is short")


# Actions


def _check_action(action: Action, size: int, spec: TracingSpec) -> None:
    for value in action:
        parts = value if isinstance(value, tuple) and not hasattr(value, "_fields") else (value,)
        _check_fields([part for part in parts if isinstance(part, Field)], size, spec)
    match action:
        case PrintfAction(conversions, _) | CommandAction(_, conversions, _):
            _check_conversions(conversions)
        case PrintaAction(conversions, aggregations):
            _check_conversions(conversions or ())
            _check_joined(aggregations, spec)
        case PrintAction(number, shown, address, label):
            name = label.replace("@", "", 1)
            _require(not name or (name.isascii() and name.isidentifier()), "an action names no variable")
            _require(0 <= number < len(spec.types), "an action names no type")
            _require(shown.kind in BYTES and (address is None or _is_number(address)), "print() shows no object")
        case TracememAction(field, dynamic):
            _require(not field.kind.startswith("long_"), "tracemem() shows no memory")
            _require(dynamic is None or _is_number(dynamic), "tracemem() shows no memory")
        case CaptureAction(time, length, data):
            _require(all(map(_is_number, (time, length))) and data.kind == "long_bytes", "capture() has no packet")
            _require((time.size, length.size, data.offset % 4) == (8, 4, 0), "capture() has no packet")
        case PacketAction(time, length, captured, link, data):
            numbers = all(map(_is_number, (time, length, link))) and captured.size in _INTEGERS
            _require(numbers and data.kind in ("bytes", "long_bytes"), "pcap() has no packet")
        case ExitAction(field):
            _require(_is_number(field), "exit() has no status")
        case TruncAction(_, wanted) | NormalizeAction(_, wanted):
            _require(wanted is None or _is_number(wanted), "an action has no number")
        case SetOptionAction(name, value):
            _require(all(each is None or each.kind in TEXTS for each in (name, value)), "setopt() has no text")
        case ShowAction(number, is_array, top, divisor):
            count = len(spec.arrays if is_array else spec.aggregations)
            _require(0 <= number < count, "an action names nothing to show")
            of: AggregationSpec | ArraySpec = spec.arrays[number] if is_array else spec.aggregations[number]
            _require(len(of.key_types) == len(of.keys), f"the keys of @{of.name} have no types")
            are_shown = all(not field.kind.endswith("symbol") for field in of.keys)
            _require(are_shown, f"a key of @{of.name} is an address without a type")
            _require(all(each is None or _is_number(each) for each in (top, divisor)), "an action has no number")
            _require(bool(size) or top is divisor is None, "what is shown at the end has no numbers")
        case EmptyAction(array, _):
            _require(0 <= array < len(spec.arrays), "an action names no array")
        case OtherAction(name, fields) if name in _CLOSING:
            _require(len(fields) == 2 and all(map(_is_number, fields)), f"{name}() has no speculation")
        case TraceAction() | ClearAction() | OtherAction():
            """Any value, an aggregation or none."""
    if isinstance(action, ClearAction | TruncAction | NormalizeAction):
        _require(0 <= action.aggregation < len(spec.aggregations), "an action names no aggregation")


def _check_joined(numbers: Sequence[int], spec: TracingSpec) -> None:
    """That printa()'s aggregations are there, with keys of the same kinds."""
    _require(bool(numbers), "an action names no aggregation")
    _require(all(0 <= number < len(spec.aggregations) for number in numbers), "an action names no aggregation")
    keys = {tuple((key.kind, key.size) for key in spec.aggregations[number].keys) for number in numbers}
    _require(len(keys) == 1, "printa() joins aggregations with other keys")


def _check_conversions(conversions: Iterable[Conversion]) -> None:
    for each in conversions:
        _require(all(map(_is_width, (each.width, each.precision))), "a format has an unknown width")
        _require(_FLAGS.issuperset(each.flags), "a format has an unknown flag")
        known = each.letters.isascii() and all(c.isalnum() or c in "@%" for c in each.letters)
        _require(known, "a format has an unknown conversion")


def _is_width(width: int | str | None) -> bool:
    return width in (None, "*") or (isinstance(width, int) and abs(width) <= MOST_COLUMNS)


def _is_number(field: Field) -> bool:
    return field.kind == "int" and field.size in _INTEGERS


# Fields


def _check_fields(fields: Iterable[Field], size: int, spec: TracingSpec) -> None:
    for field in fields:
        _require(field.kind in _KINDS, f"a field is of the unknown kind {field.kind!r}")
        _require(field.offset >= 0 and field.size > 0 and field.offset + field.size <= size, "a field is out of bounds")
        _require(field.size in _SIZES.get(field.kind, (field.size,)), f"a field of kind {field.kind} has another size")
        if field.kind in ("stack", "ustack"):
            _require(field.size % 8 == 0, "a stack is not of whole addresses")
            _require(_FRAMES.fullmatch(field.detail) is not None, "a stack has an unknown number of frames")
        if TYPED in field.detail:
            number = field.detail.partition(TYPED)[2]
            known = _TYPE_NUMBER.fullmatch(number) is not None and int(number) < len(spec.types)
            _require(known and field.size >= _least(spec.types[int(number)]), "a field has no type")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        _damaged(otherwise)


def _damaged(text: str) -> NoReturn:
    raise DamagedError(f"it is damaged: {text}")
