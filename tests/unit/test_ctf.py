"""Types written as CTF, read back by the format's description."""

import struct

import pytest
from support.d.catalog import FakeCatalog
from support.d.d_checking import DEFAULTS

from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.ctf import CtfWriter
from sonde.frontends.d.source import ProgramSource
from sonde.library.errors import Error
from sonde.library.inspection.type_files import write_types
from sonde.model.options import OptionTable
from sonde.model.types import CHAR, Array, Pointer, Qualified

INTEGER, FLOAT, POINTER, ARRAY, FUNCTION, STRUCT, UNION, ENUM, FORWARD, TYPEDEF, VOLATILE, CONST, RESTRICT, SLICE = (
    range(1, 15)
)
MEMBERS = {STRUCT: (12, "<III"), UNION: (12, "<III"), ENUM: (8, "<Ii")}
TAILS = {INTEGER: (4, "<I"), FLOAT: (4, "<I"), ARRAY: (12, "<III"), SLICE: (8, "<IHH")}

PROGRAM = """
struct point { int x; struct point *next; struct task *task; };
typedef struct point point_t;
enum color { RED = -1, BLUE = 3 };
union any { point_t p; unsigned int bits : 3; enum color color; long (*f)(int, char, ...); char a[7]; };
BEGIN { exit(0); }
"""


def read(data):
    """(kind, name, size or type, what follows) of each type, which are numbered from 1."""
    magic, version, flags, *words = struct.unpack_from("<HBB12I", data)
    assert (magic, version, flags, len(words)) == (0xDFF2, 4, 0, 12)
    start, strings, length = 52, 52 + words[10], words[11]
    assert len(data) == strings + length

    def name(offset):
        assert offset < length
        return data[strings + offset : data.index(b"\0", strings + offset)].decode()

    found, position = [None], start
    while position < strings:
        label, info, value = struct.unpack_from("<III", data, position)
        position += 12
        kind, count = info >> 26, info & 0x1FFFFFF
        if kind in MEMBERS:
            size, form = MEMBERS[kind]
            rest = [struct.unpack_from(form, data, position + size * n) for n in range(count)]
            rest = [(name(first), *others) for first, *others in rest]
            position += size * count
        elif kind == FUNCTION:
            rest = struct.unpack_from(f"<{count}I", data, position)
            position += 4 * (count + count % 2)
        else:
            size, form = TAILS.get(kind, (0, "<"))
            rest = struct.unpack_from(form, data, position)
            position += size
        found.append((kind, name(label), value, rest))
    assert position == strings
    return found


def declared(text):
    checker = Checker(FakeCatalog(), DEFAULTS)
    checker.add_text(ProgramSource(text))
    return checker.declared_types()


def written(tmp_path, option, text=PROGRAM):
    options = OptionTable()
    options.set(option, str(tmp_path / "types"))
    write_types(options, declared(text))
    return read((tmp_path / "types").read_bytes())


def number(types, kind, name):
    (found,) = [place for place, each in enumerate(types) if each and each[:2] == (kind, name)]
    return found


def test_types_of_c(tmp_path):
    types = written(tmp_path, "ctypes")
    assert types[number(types, INTEGER, "int")][2:] == (4, (1 << 24 | 32,))
    assert types[number(types, INTEGER, "unsigned char")][2:] == (1, (2 << 24 | 8,))
    assert types[number(types, FLOAT, "long double")][2:] == (16, (6 << 24 | 128,))
    assert types[number(types, TYPEDEF, "size_t")][2] == number(types, INTEGER, "unsigned long")
    assert not any(each and each[0] == STRUCT for each in types)


def test_types_of_a_program(tmp_path):
    types = written(tmp_path, "dtypes")
    point = number(types, STRUCT, "point")
    _, _, size, (x, following, task) = types[point]
    assert size == 24
    assert x == ("x", 0, number(types, INTEGER, "int"))
    assert types[following[2]][:3] == (POINTER, "", point)
    # What is only pointed to need not be known.
    assert types[types[task[2]][2]][:2] == (FORWARD, "task")
    assert types[number(types, TYPEDEF, "point_t")][2] == point
    assert types[number(types, ENUM, "color")][3] == [("RED", -1), ("BLUE", 3)]


def test_members_of_all_kinds(tmp_path):
    types = written(tmp_path, "dtypes")
    members = {name: types[kind] for name, _, kind in types[number(types, UNION, "any")][3]}
    assert members["p"][:2] == (TYPEDEF, "point_t")
    assert members["bits"][0] == SLICE
    assert members["bits"][3] == (number(types, INTEGER, "unsigned int"), 0, 3)
    function = types[members["f"][2]]
    assert function[0] == FUNCTION
    assert function[3][2] == 0
    assert members["a"][3][2] == 7


def test_each_type_is_written_once():
    writer = CtfWriter(256)
    kinds = declared(PROGRAM)
    first = [writer.add(kind) for kind in kinds]
    data = writer.file()
    assert [writer.add(kind) for kind in kinds] == first
    assert writer.file() == data


def test_a_pointer_is_no_array_and_a_qualifier_stays():
    writer = CtfWriter(256)
    kinds = (Array(CHAR, 0), Pointer(CHAR), Qualified("const", Pointer(CHAR)))
    numbers = [writer.add(kind) for kind in kinds]
    types = read(writer.file())
    assert [types[each][0] for each in numbers] == [ARRAY, POINTER, CONST]


def test_a_file_that_cannot_be_written(tmp_path):
    options = OptionTable()
    options.set("ctypes", str(tmp_path / "missing" / "types"))
    with pytest.raises(Error, match="No such file"):
        write_types(options, declared(PROGRAM))
