"""From the bytes of a record or of an aggregation key to values, through code generated once per layout.

`columns` turns fields into the format of one struct.Struct and, for each field, the expression for its value. Who
needs the values in a hot loop puts these expressions into a larger function (the text report formats a record within
the same expression); `record_reader` and `key_reader` are for everyone else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from sonde.consume import stack_values
from sonde.consume.events import Value
from sonde.consume.generated import GeneratedExpression, code, constant, function, tuple_of, variable
from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.records import Field
from sonde.model.units import MIB
from sonde.notation import forms, numbers
from sonde.typed import Any, NamedTuple

INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}
NOTED = ("named", "noted")
"""Fields whose value is text as soon as they are read."""

STACKS = ("stack", "ustack")

CACHED_STRINGS, CACHED_BYTES = 65536, 16 * MIB
"""Different strings, and their bytes, that are remembered before the cache starts again."""


class Strings(dict[bytes, bytes]):
    """Maps the bytes of a string slot to the characters before the NUL, remembering the answers."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def __missing__(self, slot: bytes) -> bytes:
        self._bytes += len(slot)
        if len(self) >= CACHED_STRINGS or self._bytes > CACHED_BYTES:
            self.clear()
            self._bytes = len(slot)
        text = self[slot] = slot.partition(b"\0")[0]
        return text


def user_address(data: bytes) -> tuple[int, int]:
    """(process, address) of a user symbol."""
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")


class RecordColumns(NamedTuple):
    """How to take records apart: `codes` for struct.Struct, the `variables` it yields.

    `expressions` has each field's value in terms of these variables, of `namespace`, and, if `at_base`, of `view` (the
    memory) and `base` (where the record's header begins).
    """

    codes: str
    variables: tuple[GeneratedExpression, ...]
    expressions: dict[Field, GeneratedExpression]
    namespace: dict[str, Any]
    at_base: bool


class _Builder:
    """Collects struct codes in the order of the offsets."""

    def __init__(self, strings: Sequence[bytes], start: int, size: int) -> None:
        self._size = size
        self.codes = "<"
        self.end = 0
        self.start = start
        self.variables: list[GeneratedExpression] = []
        self.expressions: dict[Field, GeneratedExpression] = {}
        self._words: dict[int, GeneratedExpression] = {}
        """The first words of long values, by their offsets."""
        self.namespace: dict[str, Any] = {
            "strings": strings,
            "text": Strings(),
            "user_address": user_address,
        }
        self.at_base = False

    def take(self, offset: int, size: int, form: str, name: GeneratedExpression | None = None) -> GeneratedExpression:
        """A variable for what struct.Struct makes of the bytes there."""
        self.codes += f"{offset - self.end}x{form}"
        self.end = offset + size
        self.variables.append(name or variable(len(self.variables)))
        return self.variables[-1]

    def add(self, field: Field) -> None:
        offset = self.start + field.offset
        if field.kind in NOTED:
            self._add_notations()
        if field.kind in STACKS:
            self._add_stacks()
        if field.kind in ("long_string", "long_bytes"):
            self.add_long(field)
        elif offset < self.end:
            # Two views of the same bytes: the second one reads its own slice.
            self.expressions[field] = _value_of(field, self._slice(offset, field.size))
        elif field.kind == "int" and field.size in INTEGERS:
            form = INTEGERS[field.size] if field.signed else INTEGERS[field.size].upper()
            self.expressions[field] = self.take(offset, field.size, form)
        elif field.kind in ("interned", "symbol") and field.size in (4, 8):
            number = self.take(offset, field.size, "I" if field.size == 4 else "Q")
            self.expressions[field] = code("strings[{}]", number) if field.kind == "interned" else number
        else:
            self.expressions[field] = _value_of(field, self.take(offset, field.size, f"{field.size}s"))

    def _add_notations(self) -> None:
        self.namespace |= {"number_text": numbers.number_text, "form_text": forms.form_text}

    def _add_stacks(self) -> None:
        self.namespace |= {"stack_value": stack_values.stack_value, "user_stack_value": stack_values.user_stack_value}

    def add_long(self, field: Field) -> None:
        """A value behind the fixed part: its words say where it begins and how long it is; it ends where the item does,
        whatever they say."""
        offset = self.start + field.offset
        self.at_base = True
        begin = code("base + {} + {}", constant(self.start), self._word(offset))
        end = code("min({} + {}, base + {})", begin, self._word(offset + 4), constant(self._size))
        data = code("view[{}:{}].tobytes()", begin, end)
        self.expressions[field] = code("{}.partition(b'\\0')[0]", data) if field.kind == "long_string" else data

    def _word(self, offset: int) -> GeneratedExpression:
        if offset not in self._words:
            if offset >= self.end:
                self._words[offset] = self.take(offset, 4, "I")
            else:
                self._words[offset] = code("int.from_bytes({}, 'little')", self._slice(offset, 4))
        return self._words[offset]

    def _slice(self, offset: int, size: int) -> GeneratedExpression:
        self.at_base = True
        return code("view[base + {}:base + {}].tobytes()", constant(offset), constant(offset + size))


def _value_of(field: Field, data: GeneratedExpression) -> GeneratedExpression:
    """The expression for the value of a field whose bytes are the expression `data`."""
    match field.kind:
        case "string":
            return code("text[{}]", data)
        case "interned":
            return code("strings[int.from_bytes({}, 'little')]", data)
        case "int" | "symbol":
            return code("int.from_bytes({}, 'little', signed={})", data, constant(field.signed))
        case "stack":
            return code("stack_value({})", data)
        case "ustack":
            return code("user_stack_value({})", data)
        case "user_symbol":
            return code("user_address({})", data)
        case "named":
            number = code("int.from_bytes({}, 'little', signed=True)", data)
            return code("number_text({}, {})", constant(field.detail), number)
        case "noted":
            return code("form_text({}, {})", constant(field.detail), data)
        case _:
            return data


def columns(
    fields: Iterable[Field],
    strings: Sequence[bytes],
    start: int,
    size: int,
    header: Sequence[tuple[int, GeneratedExpression]] = (),
) -> RecordColumns:
    """Lay out `fields`, whose offsets count from byte `start`, in items of `size` bytes.

    `header` are u32 words wanted besides: their offset in the item and the variable for each.
    """
    builder = _Builder(strings, start, size)
    for offset, name in header:
        builder.take(offset, 4, "I", name)
    for field in sorted(dict.fromkeys(fields), key=lambda field: (field.offset, -field.size)):
        builder.add(field)
    codes = builder.codes + f"{max(size - builder.end, 0)}x"
    return RecordColumns(codes, tuple(builder.variables), builder.expressions, builder.namespace, builder.at_base)


def _item_loop(layout: RecordColumns, size: int) -> GeneratedExpression:
    """The `for` part of a comprehension over all items of `size` bytes in `view`, one at a time."""
    variables = tuple_of(layout.variables)
    if not layout.at_base and layout.variables:
        return code("for {} in iter_unpack(view)", variables)
    bases = code("for base in range(0, len(view), {})", constant(size))
    return code("{} for {} in (unpack_from(view, base),)", bases, variables) if layout.variables else bases


def compile_comprehension(
    result: GeneratedExpression, layout: RecordColumns, size: int, extra: dict[str, Any]
) -> Callable[[memoryview], list[Any]]:
    """A function of a view that gives the list of `result` over its items; `extra` is what `result` names besides."""
    packing = struct.Struct(layout.codes)
    namespace: dict[str, Any] = {
        **layout.namespace,
        **extra,
        "unpack_from": packing.unpack_from,
        "iter_unpack": packing.iter_unpack,
    }
    return function("view", code("[{} {}]", result, _item_loop(layout, size)), namespace)


def _values(fields: Sequence[Field], layout: RecordColumns) -> GeneratedExpression:
    return tuple_of(layout.expressions[field] for field in fields)


def record_reader(
    fields: Sequence[Field], strings: Sequence[bytes], stride: int
) -> Callable[[memoryview], list[tuple[Value, ...]]]:
    """A function from the data of a run (`Sink.run`) to the fields' values of each record."""
    layout = columns(fields, strings, RING_HEADER, stride)
    return compile_comprehension(_values(fields, layout), layout, stride, {})


def key_reader(
    fields: Sequence[Field], strings: Sequence[bytes], size: int
) -> Callable[[Sequence[bytes]], list[tuple[Value, ...]]]:
    """A function from the bytes of an aggregation's keys, `size` each, to the values of their fields."""
    layout = columns(fields, strings, 0, size)
    if not fields:
        return lambda keys: [()] * len(keys)
    read = compile_comprehension(_values(fields, layout), layout, size, {})
    return lambda keys: read(memoryview(b"".join(keys)))
