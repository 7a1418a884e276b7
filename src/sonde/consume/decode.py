"""From the bytes of a record or of an aggregation key to values, through code generated once per layout.

`columns` turns fields into the format of one struct.Struct and, for each field, the source text of a Python
expression for its value. Who needs the values in a hot loop puts these expressions into a larger function (the text
report formats a record within the same expression); `record_reader` and `key_reader` are for everyone else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from sonde.consume.events import RING_HEADER, Value
from sonde.consume.stacks import stack_value, user_stack_value
from sonde.model.spec import Field
from sonde.typed import Any, NamedTuple, cast

INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}
CACHED_STRINGS = 65536
"""Different strings remembered before the cache starts again, which bounds its memory to some megabytes."""


class Strings(dict[bytes, bytes]):
    """Maps the bytes of a string slot to the characters before the NUL, remembering the answers."""

    def __missing__(self, slot: bytes) -> bytes:
        if len(self) >= CACHED_STRINGS:
            self.clear()
        text = self[slot] = slot.partition(b"\0")[0]
        return text


def user_address(data: bytes) -> tuple[int, int]:
    """(process, address) of a user symbol."""
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")


class Columns(NamedTuple):
    """How to take records apart: `codes` for struct.Struct, `names` of the variables it yields.

    `expressions` has the source of each field's value in terms of these names, of `namespace`, and, if `at_base`, of
    `view` (the memory) and `base` (where the record's header begins).
    """

    codes: str
    names: tuple[str, ...]
    expressions: dict[Field, str]
    namespace: dict[str, Any]
    at_base: bool


class _Builder:
    """Collects struct codes in the order of the offsets."""

    def __init__(self, strings: Sequence[bytes], start: int) -> None:
        self.codes = "<"
        self.end = 0
        self.start = start
        self.names: list[str] = []
        self.expressions: dict[Field, str] = {}
        self.namespace: dict[str, Any] = {
            "strings": strings,
            "text": Strings(),
            "stack_value": stack_value,
            "user_stack_value": user_stack_value,
            "user_address": user_address,
        }
        self.at_base = False

    def take(self, offset: int, size: int, code: str, name: str) -> str:
        self.codes += f"{offset - self.end}x{code}"
        self.end = offset + size
        self.names.append(name)
        return name

    def add(self, field: Field) -> None:
        offset = self.start + field.offset
        if field.kind in ("long_string", "long_bytes"):
            self.add_long(field)
        elif offset < self.end:
            # Two views of the same bytes: the second one reads its own slice.
            self.at_base = True
            data = f"view[base + {offset}:base + {offset + field.size}].tobytes()"
            self.expressions[field] = _value_source(field, data)
        elif field.kind == "int" and field.size in INTEGERS:
            code = INTEGERS[field.size] if field.signed else INTEGERS[field.size].upper()
            self.expressions[field] = self.take(offset, field.size, code, f"v{offset}")
        elif field.kind in ("interned", "symbol"):
            name = self.take(offset, field.size, "I" if field.size == 4 else "Q", f"v{offset}")
            self.expressions[field] = f"strings[{name}]" if field.kind == "interned" else name
        else:
            data = self.take(offset, field.size, f"{field.size}s", f"v{offset}")
            self.expressions[field] = _value_source(field, data)

    def add_long(self, field: Field) -> None:
        offset = self.start + field.offset
        self.at_base = True
        first, length = f"v{offset}", f"v{offset + 4}"
        if offset >= self.end:
            self.take(offset, 4, "I", first)
            self.take(offset + 4, 4, "I", length)
        begin = f"base + {self.start} + {first}"
        characters = ".partition(b'\\0')[0]" if field.kind == "long_string" else ""
        self.expressions[field] = f"view[{begin}:{begin} + {length}].tobytes(){characters}"


def _value_source(field: Field, data: str) -> str:
    """The expression for the value of a field whose bytes are the expression `data`."""
    match field.kind:
        case "string":
            return f"text[{data}]"
        case "interned":
            return f"strings[int.from_bytes({data}, 'little')]"
        case "int" | "symbol":
            return f"int.from_bytes({data}, 'little', signed={field.signed})"
        case "stack":
            return f"stack_value({data})"
        case "ustack":
            return f"user_stack_value({data})"
        case "user_symbol":
            return f"user_address({data})"
        case _:
            return data


def columns(
    fields: Iterable[Field], strings: Sequence[bytes], start: int, size: int, header: Sequence[tuple[int, str]] = ()
) -> Columns:
    """Lay out `fields`, whose offsets count from byte `start`, in items of `size` bytes.

    `header` are u32 words wanted besides: their offset in the item and the name of the variable.
    """
    builder = _Builder(strings, start)
    for offset, name in header:
        builder.take(offset, 4, "I", name)
    for field in sorted(set(fields), key=lambda field: (field.offset, -field.size)):
        builder.add(field)
    codes = builder.codes + f"{max(size - builder.end, 0)}x"
    return Columns(codes, tuple(builder.names), builder.expressions, builder.namespace, builder.at_base)


def item_loop(layout: Columns, size: int) -> str:
    """The `for` part of a comprehension over all items of `size` bytes in `view`, one at a time."""
    names = ", ".join(layout.names)
    if layout.at_base or not names:
        unpacking = f" for ({names},) in (unpack_from(view, base),)" if names else ""
        return f"for base in range(0, len(view), {size}){unpacking}"
    return f"for ({names},) in iter_unpack(view)"


def compile_comprehension(
    result: str, layout: Columns, size: int, extra: dict[str, Any]
) -> Callable[[memoryview], list[Any]]:
    """A function of a view that gives the list of `result` (an expression) over its items."""
    packing = struct.Struct(layout.codes)
    namespace: dict[str, Any] = {
        **layout.namespace,
        **extra,
        "unpack_from": packing.unpack_from,
        "iter_unpack": packing.iter_unpack,
    }
    source = f"lambda view: [{result} {item_loop(layout, size)}]"
    return cast("Callable[[memoryview], list[Any]]", eval(compile(source, "<record>", "eval"), namespace))


def _tuple_source(fields: Sequence[Field], layout: Columns) -> str:
    return "(" + "".join(layout.expressions[field] + ", " for field in fields) + ")"


def record_reader(
    fields: Sequence[Field], strings: Sequence[bytes], stride: int
) -> Callable[[memoryview], list[tuple[Value, ...]]]:
    """A function from the data of a run (`Sink.run`) to the fields' values of each record."""
    layout = columns(fields, strings, RING_HEADER, stride)
    return compile_comprehension(_tuple_source(fields, layout), layout, stride, {})


def key_reader(
    fields: Sequence[Field], strings: Sequence[bytes], size: int
) -> Callable[[Sequence[bytes]], list[tuple[Value, ...]]]:
    """A function from the bytes of an aggregation's keys, `size` each, to the values of their fields."""
    layout = columns(fields, strings, 0, size)
    if not fields:
        return lambda keys: [()] * len(keys)
    read = compile_comprehension(_tuple_source(fields, layout), layout, size, {})
    return lambda keys: read(memoryview(b"".join(keys)))
