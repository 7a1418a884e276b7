"""What sonde names at a place, its type and its value, against gdb at every line of programs it has compiled."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from compiled_objects import C_SOURCE, CXX_SOURCE, compiled, needs_gcc, needs_gdb, needs_rust

import sonde
from sonde.lang.types import Enum, Pointer, Struct, name_of, resolve, size_of
from sonde.symbols.dwarf.breakpoints import line_tables, stops
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.scopes import all_scopes, nameable, scopes_at
from sonde.symbols.dwarf.types import Types

pytestmark = needs_gcc

HERE = Path(__file__).parent


def compared(path, name):
    """What gdb_compare.py prints, breaking at every line of the source that has code."""
    information = open_information(path)
    lines = sorted({
        row.line
        for _, table, numbers in line_tables(information, name)
        for row in table.rows()
        if row.file in numbers and row.is_statement and not row.ends and information.is_code(row.address)
    })  # fmt: skip
    paths = [str(HERE), str(Path(sonde.__file__).parents[1]), sysconfig.get_paths()["purelib"]]
    setting = f"python lines, paths, name = {lines!r}, {paths!r}, {name!r}"
    script = str(HERE / "gdb_compare.py")
    command = ["gdb", "-batch", "-nx", "-ex", setting, "-x", script, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "LC_ALL": "C"})
    assert "Error" not in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return [json.loads(row[1:]) for row in done.stdout.splitlines() if row.startswith("={")]


@needs_gdb
@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O3",), ("-O2", "-gsplit-dwarf"), ("-O2", "-gdwarf-4")])
def test_values_are_those_gdb_prints(language, flags):
    results = compared(compiled(*flags, language=language), "program.c" if language == "c" else "program.cc")
    pairs = [each for each in results if each["gdb"] is not None]
    known = [each for each in pairs if each["sonde"] is not None]
    assert len(known) > 60
    assert [each for each in known if each["sonde"] != each["gdb"]] == []
    fetched = [each for each in known if each["steps"] is not None]
    assert [each for each in fetched if each["steps"] != each["gdb"]] == []
    assert len(fetched) > 0.8 * len(known)
    assert all(each["size"][0] == each["size"][1] for each in results)
    missing = [each for each in pairs if each["sonde"] is None]
    assert len(missing) <= 0.03 * len(pairs), missing
    if flags != ("-O0",):
        assert sum(each["list"] for each in known) > 10


@needs_gdb
@needs_rust
@pytest.mark.parametrize("level", [0, 2, 3])
def test_values_of_rust_are_those_gdb_prints(level):
    results = compared(compiled("-C", f"opt-level={level}", language="rust"), "program.rs")
    known = [each for each in results if each["gdb"] is not None and each["sonde"] is not None]
    assert len(known) > 10
    assert [each for each in known if each["sonde"] != each["gdb"]] == []
    assert not [each for each in results if each["gdb"] is not None and each["sonde"] is None]


def entry_variables(name, *flags):
    information = open_information(compiled(*flags))
    (function,) = information.functions(name)
    types = Types()
    return function, types


def test_types_are_those_of_the_language():
    function, types = entry_variables("loop", "-O0")
    (request, count, *_) = next(all_scopes(function, types)).variables
    assert (request.name, name_of(request.type), request.is_parameter) == ("request", "struct request *", True)
    assert name_of(count.type) == "int"
    pointer = resolve(request.type)
    assert isinstance(pointer, Pointer)
    assert pointer.user
    struct = resolve(pointer.to)
    assert isinstance(struct, Struct)
    assert {name: (struct.find(name).offset // 8, name_of(struct.find(name).type)) for name in
            ("at", "sizes", "headers", "inner", "left", "right", "callback", "next")} == {
        "at": (0, "struct point"), "sizes": (8, "struct point[3]"), "headers": (48, "struct header *"),
        "inner": (56, "short"), "left": (60, "int"), "right": (60, "unsigned int"),
        "callback": (72, "int (*)(int, const char *)"), "next": (80, "struct request *"),
    }  # fmt: skip
    bits = resolve(struct.find("bits").type)
    assert [(each.name, each.offset, each.bits) for each in bits.members] == [("a", 0, 3), ("b", 3, 7), ("c", 10, 40)]
    color = resolve(struct.find("color").type)
    assert color == Enum("color", 4, True, (("RED", 0), ("GREEN", 5), ("BLUE", -1)))
    assert size_of(struct) == 88
    assert resolve(resolve(struct.find("next").type).to) is struct


@pytest.mark.parametrize("version", ["2", "3", "4", "5"])
def test_bit_fields_are_where_they_are_in_every_version(version):
    information = open_information(compiled("-O0", f"-gdwarf-{version}", "-gstrict-dwarf"))
    (function,) = information.functions("loop")
    struct = resolve(resolve(next(all_scopes(function, Types())).variables[0].type).to)
    bits = resolve(struct.find("bits").type)
    assert [(each.name, each.offset, each.bits) for each in bits.members] == [("a", 0, 3), ("b", 3, 7), ("c", 10, 40)]


def test_a_name_is_that_of_the_innermost_block():
    path = compiled("-O0")
    information = open_information(path)
    line = C_SOURCE[: C_SOURCE.index("        sink = total;\n    }\n    return")].count("\n") + 1
    (stop,) = stops(information, "program.c", line)
    named = {each.name: name_of(each.type) for each in nameable(scopes_at(stop.function, stop.address, Types()))}
    assert named == {"request": "struct request *", "count": "int", "total": "long"}


def test_an_inlined_copy_knows_its_own_names_only():
    information = open_information(compiled("-O2"))
    line = C_SOURCE[: C_SOURCE.index("    sink += doubled")].count("\n") + 1
    found = stops(information, "program.c", line)
    assert len(found) == 2
    for stop in found:
        scopes = scopes_at(stop.function, stop.address, Types())
        assert [each.name for each in scopes if each.name] == ["loop", "twice"]
        assert {each.name for each in nameable(scopes)} == {"value", "doubled"}


def test_classes_have_their_members():
    information = open_information(compiled("-O0", language="c++"))
    (function,) = information.functions("total")
    (this, factor, *_) = next(all_scopes(function, Types())).variables
    basket = resolve(resolve(this.type).to)
    assert [each.name for each in basket.members] == ["items", "count"]
    assert name_of(factor.type) == "int"
    assert "Basket::total" in CXX_SOURCE
