"""The table of functions that Go's runtime has, in its four layouts, and damaged."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file import Section
from sonde.symbols.elf.go_functions import go_functions

TEXT, TABLE, END = 0x401000, 0x500000, 0x100
FUNCTIONS = ((0, "runtime.goexit"), (0x40, "main.main"), (0x90, "main.work[go.shape.int]"))
NAMES = b"".join(b"\0" + name.encode() for _, name in FUNCTIONS) + b"\0"


def place_of(name):
    return NAMES.index(b"\0" + name.encode() + b"\0") + 1


def entries(entry, func, base, begin):
    """The functions with their _funcs after them, the first of which is at `base` from where offsets count."""
    table, functions = b"", b""
    size = struct.calcsize(entry)
    first = base + size * (len(FUNCTIONS) + 1)
    for start, name in FUNCTIONS:
        table += struct.pack(entry, begin + start, first + len(functions))
        functions += struct.pack(func, begin + start, place_of(name))
    return table + struct.pack(entry, begin + END, 0), functions


def older(size):
    """Go 1.2: names and functions count from the beginning of the table."""
    word = "IQ"[size == 8]
    head = struct.pack(f"<IHBB{word}", 0xFFFFFFFB, 0, 1, size, len(FUNCTIONS))
    table, functions = entries(f"<2{word}", f"<{word}I", len(head), TEXT)
    shift = len(head) + len(table) + len(functions)
    moved = b"".join(
        struct.pack(f"<{word}I", start, name + shift) for start, name in struct.iter_unpack(f"<{word}I", functions)
    )
    return head + table + moved + NAMES


def newer(kind, size, text=TEXT):
    word = "IQ"[size == 8]
    is_relative = kind != 0xFFFFFFFA
    count = 8 if is_relative else 7
    names = 8 + size * count
    base = names + len(NAMES)
    words = [len(FUNCTIONS), 0, *([text] if is_relative else []), names, 0, 0, 0, base]
    head = struct.pack(f"<IHBB{count}{word}", kind, 0, 1, size, *words)
    forms = ("<2I", "<2I") if is_relative else (f"<2{word}", f"<{word}I")
    return head + NAMES + b"".join(entries(*forms, 0, 0 if is_relative else TEXT))


class Made:
    """In the place of an ElfFile."""

    def __init__(self, table, relocations=b"", text=0):
        self.costs, self._table, self._relocations, self._text = Costs(), table, relocations, text

    def find_section(self, name):
        address = {".gopclntab": TABLE, ".text": self._text}.get(name)
        return Section(name, 1, address, 0, len(self._table), 0, 0) if address else None

    def part(self, section):
        return self._table

    def section(self, name, most):
        return self._relocations


def shown(functions):
    return [functions.around(TEXT + offset) for offset in (-1, 0, 0x3F, 0x40, 0x90, END - 1, END)]


GOEXIT, MAIN, WORK = ((name, TEXT + start) for start, name in FUNCTIONS)
ALL = [None, GOEXIT, GOEXIT, MAIN, WORK, WORK, None]


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("kind", [0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1])
def test_functions_of_each_layout(kind, size):
    functions = go_functions(Made(older(size) if kind == 0xFFFFFFFB else newer(kind, size)))
    assert shown(functions) == ALL
    assert list(functions.addresses(("runtime.goexit", "main.main", "main"))) == [TEXT, TEXT + 0x40]


def test_where_the_code_begins_is_relocated_or_the_section():
    table = newer(0xFFFFFFF1, 8, 0)
    other = struct.pack("<QQq", TABLE, 8, 77)
    relocation = struct.pack("<QQq", TABLE + 24, 8, TEXT)
    assert shown(go_functions(Made(table, other + relocation, 5))) == ALL
    assert shown(go_functions(Made(table, other, TEXT))) == ALL


def test_other_tables_are_none():
    assert go_functions(Made(b"")) is None
    assert go_functions(Made(newer(0xFFFFFFF2, 8))) is None
    assert go_functions(Made(newer(0xFFFFFFF1, 8)[:4])) is None


@given(st.integers(0, 200), st.binary(max_size=24), st.integers(0, 0x120))
def test_a_damaged_table_gives_a_name_or_none(place, patch, offset):
    table = bytearray(newer(0xFFFFFFF1, 8))
    table[place : place + len(patch)] = patch
    functions = go_functions(Made(bytes(table), b"", TEXT))
    if functions is not None:
        found = functions.around(TEXT + offset)
        assert found is None or isinstance(found[0], str)
        list(functions.addresses(("main.main",)))


@pytest.mark.parametrize(
    ("length", "end", "expected"), [(1024, b"\0", "m" * 1024), (1025, b"\0", None), (5000, b"", None), (9, b"", None)]
)
def test_a_name_that_is_long_or_has_no_end_is_none(length, end, expected):
    """Names of the neighbouring table would be shown as a part of it."""
    table = older(8)
    at = len(table)
    names = struct.pack("<I", at)
    place = table.index(struct.pack("<QI", TEXT + 0x40, len(table) - len(NAMES) + place_of("main.main")))
    made = table[: place + 8] + names + table[place + 12 :] + b"m" * length + end
    found = go_functions(Made(made)).around(TEXT + 0x40)
    assert found == (expected and (expected, TEXT + 0x40))
