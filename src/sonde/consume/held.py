"""The processes of which stacks or addresses are kept, so that they may be shown later: as `symbols.images` calls them,
a pid and the mark of what it executed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

from sonde.consume.runs import spans
from sonde.consume.stacks import process_of
from sonde.consume.store import Key
from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.records import Field, RecordLayout
from sonde.model.spec import is_of_process, shown_fields

_WORD = 8

Contents = Sequence[tuple[bytes, bytes]]
"""The keys and values of a map."""


def in_maps(names: Iterable[tuple[str, Sequence[Field], Sequence[Field]]], read: Callable[[str], Contents]) -> set[int]:
    """Those in maps, each a name, the fields of its keys and those of its values."""
    found: set[int] = set()
    for name, keys, values in names:
        in_keys, in_values = list(filter(is_of_process, keys)), list(filter(is_of_process, values))
        if in_keys or in_values:
            for key, value in read(name):
                found.update(_words(in_keys, key), _words(in_values, value))
    return found


def in_keys(fields: Sequence[Field], keys: Iterable[Key]) -> set[int]:
    """Those in decoded keys."""
    places = [place for place, field in enumerate(fields) if is_of_process(field)]
    return {word for key in keys for place in places for word in _of_value(fields[place], key[place])}


def in_records(layouts: dict[int, RecordLayout], data: memoryview) -> set[int]:
    """Those in records as they stand in a ring."""
    found: set[int] = set()
    for number, _, start, stop, stride in spans(data):
        actions = layouts[number].actions if number in layouts else ()
        fields = [field for action in actions for field in shown_fields(action) if is_of_process(field)]
        for at in range(start + RING_HEADER, stop, stride) if fields else ():
            found.update(_words(fields, data[at : at + stride - RING_HEADER]))
    return found


def _words(fields: Iterable[Field], data: bytes | memoryview) -> Iterator[int]:
    """The first word of a stack or an address is its process; in a structure any may be one."""
    for field in fields:
        size = _WORD if field.kind in ("ustack", "user_symbol") else field.size
        yield from _numbers(bytes(data[field.offset : field.offset + size]))


def _of_value(field: Field, value: object) -> Iterable[int]:
    match value:
        case (int(process), _):
            return (process,)
        case bytes() if field.kind == "ustack":
            return (process_of(value),)
        case bytes():
            return _numbers(value)
    return ()


def _numbers(data: bytes) -> Iterable[int]:
    return array("Q", data[: len(data) // _WORD * _WORD])
