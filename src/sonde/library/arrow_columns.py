"""From the bytes of records to columns of Arrow, without a look at each: integers by strided copies, whatever else has
a fixed size by the different ones among it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sonde.consume.decode import INTEGERS, columns, compile_comprehension, key_reader
from sonde.consume.generated import tuple_of
from sonde.formats.bpf_ring import RING_HEADER
from sonde.library.arrow_values import STRING, DataType, array_of, field_type
from sonde.library.own_values import own_word
from sonde.library.record_reader import fields_of
from sonde.library.values import Values
from sonde.model.records import Action, Field, PrintfAction, RecordLayout, TraceAction
from sonde.typed import Any
from sonde.visible import unicode_text

Array = Any
"""A pyarrow.Array."""

SYMBOLIC = ("stack", "ustack", "symbol", "user_symbol")
"""Fields whose names are to be had while the process lives."""

_SLOTS = (*SYMBOLIC, "string", "interned", "named", "noted")


class RecordRun:
    """Records of one length, `stride` bytes from one to the next, each behind its header."""

    def __init__(self, data: bytes, stride: int) -> None:
        self.count = len(data) // stride
        self._view = memoryview(data)
        self._stride = stride
        self._whole = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(stride), self.count, [None, pa.py_buffer(data)]
        )  # fmt: skip

    @property
    def data(self) -> memoryview:
        return self._view

    def integers(self, offset: int, size: int, wanted: DataType) -> Array:
        """The integers of `size` bytes (1, 2, 4 or 8) at that offset of each."""
        length = (len(self._view) - offset) // size * size
        form: Any = INTEGERS[size]
        column = self._view[offset : offset + length].cast(form)[:: self._stride // size]
        return pa.Array.from_buffers(wanted, self.count, [None, pa.py_buffer(column.tobytes())])

    def slots(self, offset: int, size: int) -> Array:
        """The bytes at that offset of each."""
        return pc.binary_slice(self._whole, offset, offset + size)


def named(indices: Array, names: Sequence[str]) -> Array:
    """A column of strings, by numbers of `names`, of which some may be equal."""
    found = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(found) < len(names):
        indices = pa.array([found[name] for name in names], pa.int32()).take(indices)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(found), pa.string()))


def texts_of(column: Array, text: Callable[[Any], str]) -> Array:
    """A column of strings, each made of a value that comes again and again."""
    encoded = column.dictionary_encode()
    return named(encoded.indices, [text(each) for each in encoded.dictionary.to_pylist()])


class FieldColumn:
    """Reads the values of one field of fixed size."""

    def __init__(self, field: Field, strings: Sequence[bytes], values: Values) -> None:
        self._field = field
        self._values = values
        self._type = field_type(field)
        self._decode = key_reader((field._replace(offset=0),), strings, field.size)

    def read(self, run: RecordRun) -> Array:
        field = self._field
        offset = RING_HEADER + field.offset
        if field.kind == "int":
            return run.integers(offset, field.size, self._type)
        slots = run.slots(offset, field.size)
        if self._type == pa.binary() and not own_word(field.detail):
            return slots.cast(pa.binary())
        encoded = slots.dictionary_encode()
        decoded = self._decode(encoded.dictionary.to_pylist())
        found = [self._values.value(field, each) for (each,) in decoded]
        if self._type == STRING:
            return named(encoded.indices, [unicode_text(each) for each in found])
        return array_of(found, self._type).take(encoded.indices)


def is_fixed(field: Field) -> bool:
    """Whether its values are read a column at a time."""
    return field.kind in _SLOTS or field.kind == "bytes" or (field.kind == "int" and field.size in INTEGERS)


ReadColumns = Callable[[RecordRun], "list[Array]"]


def statement_reader(
    layout: RecordLayout, action: Action, types: Sequence[DataType], stride: int, strings: Sequence[bytes],
    values: Values,
) -> ReadColumns:  # fmt: skip
    """What reads the columns of one statement from records of `stride` bytes."""
    fields = fields_of(action)
    if isinstance(action, TraceAction | PrintfAction) and all(map(is_fixed, fields)):
        readers = [FieldColumn(each, strings, values) for each in fields]
        return lambda run: [each.read(run) for each in readers]
    found = columns(fields, strings, RING_HEADER, stride)
    taken = tuple_of(values.expressions(action, [found.expressions[each] for each in fields]))
    read = compile_comprehension(taken, found, stride, dict(values.functions))

    def read_each(run: RecordRun) -> list[Array]:
        rows = read(run.data)
        return [array_of([row[place] for row in rows], wanted) for place, wanted in enumerate(types)]

    return read_each
